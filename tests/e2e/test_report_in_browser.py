"""The page of a run in a real browser: without network, with a keyboard, small, dark, hostile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, opened
from films import cartpole_run
from page_worlds import HOSTILE, panel, spoil_everything, store_pictures
from strangers import having, plugin

from rpd import open_run

pytestmark = pytest.mark.extras

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def copied(folder: Path) -> Path:
    """Return a CartPole run of one's own whose smallest policy is confirmed."""
    return shutil.copytree(cartpole_run().path, folder / "run")


@pytest.fixture(scope="module")
def report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a CartPole run with some pictures and a pair of clips."""
    run = open_run(copied(tmp_path_factory.mktemp("page")))
    store_pictures(run.path, str(run.name), [row.key for row in run.decisions[:4]])
    return open_run(run.path).report()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    with opened(browser, report) as found:
        yield found.page
    assert found.complaints == []
    assert found.requests == []


def column(page: Any, name: str, table: str = "effects") -> list[str]:
    cells = page.locator(f"#{table}-table tbody .c-{name}")
    return [text.strip() for text in cells.all_inner_texts()]


def effects(page: Any) -> list[float]:
    return [float(text.split()[0]) for text in column(page, "effect")]


def unfold(page: Any, name: str) -> None:
    page.locator(f"#{name} > summary").click()


def test_hero_timeline_barcode_and_proof_are_seen_at_once(page: Any) -> None:
    labels = [one.get_attribute("aria-label") for one in page.locator(".drawing svg:visible").all()]
    assert len(labels) == 4
    assert labels[0].startswith("Loss without the policy over ")
    assert labels[1].startswith("Typical episode of ")
    assert " episodes, one row each" in labels[2]
    assert labels[3].startswith("Share of the return against ")
    assert page.locator("details[open]").count() == 0


def test_the_slider_of_steps_moves_both_markers_and_says_who_acts(page: Any) -> None:
    page.locator("#step").focus()
    page.keyboard.press("End")
    last = int(page.locator("#step").get_attribute("max"))
    told = page.locator("#told").inner_text()
    assert told.startswith(f"Step {last}: ")
    assert "acts" in told
    markers = page.locator("svg[data-track]:visible .marker")
    assert markers.count() == 2
    places = [one.get_attribute("cx") for one in markers.all()]
    assert [one.get_attribute("visibility") for one in markers.all()] == ["visible", "visible"]
    page.locator("#step-before").click()
    assert page.locator("#told").inner_text().startswith(f"Step {last - 1}: ")
    assert [one.get_attribute("cx") for one in markers.all()] != places


def test_pointing_at_a_bar_shows_its_step(page: Any) -> None:
    box = page.locator("#timeline svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    middle = page.locator("#told").inner_text()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 40)
    assert page.locator("#told").inner_text() != middle


def test_the_menu_shows_another_pair_of_variables(page: Any) -> None:
    first = page.locator("[data-hero='0']")
    assert first.is_visible()
    page.locator("#hero-menu").select_option("1")
    assert not first.is_visible()
    assert page.locator("[data-hero='1']").is_visible()


def test_a_card_leads_to_its_rows(page: Any) -> None:
    link = page.locator("[data-rows]").first
    ranks = link.get_attribute("data-rows").split(",")
    link.click()
    assert page.locator("#decisions").get_attribute("open") is not None
    assert sorted(column(page, "rank", "decisions"), key=int) == sorted(ranks, key=int)[:25]


def test_the_rows_are_downloaded_as_csv(page: Any, report: Path) -> None:
    unfold(page, "decisions")
    with page.expect_download() as waiting:
        page.locator("#decisions-csv").click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    rows = open_run(report.parent).decisions
    assert waiting.value.suggested_filename == "decisions.csv"
    assert len(lines) == len(rows) + 1
    assert rows[0].state in lines[1]


def test_the_slider_shows_what_each_policy_on_the_way_did(page: Any, report: Path) -> None:
    front = open_run(report.parent).summary.policy.front
    unfold(page, "keep")
    slider = page.locator("#keep-number")
    assert page.locator("#keep-count").inner_text() == str(front[-1].decisions)
    slider.focus()
    page.keyboard.press("Home")
    assert page.locator("#keep-count").inner_text() == str(front[0].decisions)
    assert page.locator("#keep-share").inner_text() == f"{front[0].share:.0%}"
    assert page.locator("#keep-overrides").inner_text() == f"{front[0].overrides:.0%}"
    assert slider.get_attribute("aria-valuetext") == f"{front[0].decisions} decisions"


def test_the_decisions_of_the_smallest_policy_come_first(page: Any, report: Path) -> None:
    rows = open_run(report.parent).decisions
    unfold(page, "decisions")
    shown = column(page, "state", "decisions")
    assert shown == [row.state for row in rows[: len(shown)]]
    tables = page.locator("[data-table]")
    assert [table.get_attribute("data-table") for table in tables.all()] == ["decisions", "effects"]
    page.locator("#decisions-filter").select_option("needed")
    needed = min(sum(row.needed for row in rows), 25)
    assert column(page, "needed", "decisions") == ["needed"] * needed


def test_the_table_is_sorted_by_its_headings_with_the_keyboard_alone(page: Any) -> None:
    unfold(page, "method")
    heading = page.locator("#effects-table th[data-key=effect]")
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert effects(page) == sorted(effects(page), reverse=True)
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert effects(page) == sorted(effects(page))
    page.locator("#effects-after").focus()
    page.keyboard.press("Enter")
    assert page.locator("#effects-page").inner_text().startswith("26 to 50 of ")


def test_search_and_filter_leave_what_fits(page: Any) -> None:
    unfold(page, "method")
    words = column(page, "state")[0]
    page.locator("#effects-search").fill(words.upper())
    assert column(page, "state") == [words]
    page.locator("#effects-search").fill("no such state")
    assert column(page, "state") == []
    assert page.locator("#effects-status").inner_text().startswith("0 of ")
    page.locator("#effects-search").fill("")
    page.locator("#effects-filter").select_option("undecided")
    assert {*column(page, "verdict")} == {"undecided"}


def test_a_line_is_hidden_and_shown_again(page: Any) -> None:
    unfold(page, "method")
    lines = page.locator("[data-curve=tarantula]")
    shown = "line => line.style.display"
    box = page.locator("[data-line=tarantula]")
    box.focus()
    page.keyboard.press("Space")
    assert [line.evaluate(shown) for line in lines.all()] == ["none", "none"]
    page.keyboard.press("Space")
    assert [line.evaluate(shown) for line in lines.all()] == ["", ""]


def test_both_clips_of_the_film_are_there(page: Any) -> None:
    for image in page.locator(".pair img").all():
        assert image.get_attribute("src").startswith("data:image/webp")
        assert image.get_attribute("alt")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_check_finds_nothing(browser: Any, report: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(browser, report, color_scheme=scheme) as found:
        for summary in found.page.locator("summary").all():
            summary.click()
        result = axe.run(found.page)
        back = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert len(result.response["passes"]) > 20
    assert result.violations_count == 0, result.generate_report()
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


def test_nothing_is_wider_than_a_phone(browser: Any, report: Path) -> None:
    with opened(browser, report, viewport=PHONE, has_touch=True) as found:
        for summary in found.page.locator("summary").all():
            summary.click()
        assert found.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert found.page.locator("#effects-table tbody tr").first.is_visible()


def test_a_phone_has_few_screens_before_the_folds(browser: Any, report: Path) -> None:
    with opened(browser, report, viewport=PHONE, has_touch=True) as found:
        top = found.page.locator("#more").bounding_box()["y"]
        assert top < 8 * PHONE["height"]
    assert found.complaints == []


def test_a_phone_shows_ten_decisions_at_a_time(browser: Any, report: Path) -> None:
    with opened(browser, report, viewport=PHONE) as found:
        page = found.page
        unfold(page, "method")
        assert page.locator("#effects-table tbody tr").count() == 10
        page.locator("#effects-after").click()
        assert column(page, "rank")[0] == "11"
        cards = [row.bounding_box() for row in page.locator("#effects-table tbody tr").all()]
        assert all(0 < card["height"] < 330 for card in cards), "a card fits a small screen"


def test_on_paper_every_fold_is_open_and_closed_again_afterwards(page: Any) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 is narrower than a screen
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    row = page.locator("#effects-table tbody tr").first
    assert row.evaluate("row => getComputedStyle(row).display") == "table-row"
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


def test_every_control_is_reached_by_the_tab_key(page: Any) -> None:
    for name in ("decisions", "keep"):
        unfold(page, name)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    wanted = {"hero-menu", "step", "step-before", "keep-number", "decisions-search"}
    assert wanted <= reached


def test_without_scripts_the_answer_the_curves_and_the_first_rows_are_there(
    browser: Any, report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#timeline svg").is_visible()
    unfold(page, "method")
    assert page.locator("#effects-table tbody tr").count() == 25
    context.close()


def test_hostile_names_are_shown_as_they_are_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    run = copied(tmp_path)
    spoil_everything(run)
    with having(plugin("rpd-odd", "1", (panel("good", "Good"), panel("bad", "Raises")))):
        report = open_run(run).report()
    with opened(browser, report) as found:
        page = found.page
        assert page.evaluate("window.pwned") is None
        assert page.locator("[onerror]").count() == 0
        assert page.locator("img[src=x]").count() == 0
        assert HOSTILE in page.locator(".kicker").inner_text()
        unfold(page, "method")
        assert HOSTILE in page.locator("#effects-table tbody .c-state").first.inner_text()
        page.mouse.move(400, 700)
        assert page.evaluate("window.pwned") is None
    assert found.complaints == []
