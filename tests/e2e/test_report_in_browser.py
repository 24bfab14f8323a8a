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


def test_the_curves_and_the_plane_are_drawn_on_the_screen_and_for_print(page: Any) -> None:
    drawings = page.locator(".drawing svg:visible")
    labels = [drawing.get_attribute("aria-label") for drawing in drawings.all()]
    assert "Mean return against the share of states, one line per ranking" in labels
    assert "Mean return against the share of steps, one line per ranking" in labels
    assert any(" over pole tilt and pole spin" in label for label in labels)
    page.emulate_media(media="print")
    assert drawings.count() == len(labels)


def test_the_slider_shows_what_each_policy_on_the_way_did(page: Any, report: Path) -> None:
    front = open_run(report.parent).summary.policy.front
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
    shown = column(page, "state", "decisions")
    assert shown == [row.state for row in rows[: len(shown)]]
    tables = page.locator("[data-table]")
    assert [table.get_attribute("data-table") for table in tables.all()] == ["decisions", "effects"]
    page.locator("#decisions-filter").select_option("needed")
    needed = min(sum(row.needed for row in rows), 25)
    assert column(page, "needed", "decisions") == ["needed"] * needed


def test_the_table_is_sorted_by_its_headings_with_the_keyboard_alone(page: Any) -> None:
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
    lines = page.locator("[data-curve=tarantula]")
    shown = "line => line.style.display"
    box = page.locator("[data-line=tarantula]")
    box.focus()
    page.keyboard.press("Space")
    assert [line.evaluate(shown) for line in lines.all()] == ["none", "none"]
    page.keyboard.press("Space")
    assert [line.evaluate(shown) for line in lines.all()] == ["", ""]


def test_both_clips_are_played_and_stopped_together(page: Any) -> None:
    button = page.locator("[data-play='0']")
    stills = [image.get_attribute("src") for image in page.locator(".pair img").all()]
    button.click()
    assert button.inner_text() == "Stop"
    button.click()
    assert [image.get_attribute("src") for image in page.locator(".pair img").all()] == stills


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_check_finds_nothing(browser: Any, report: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(browser, report, color_scheme=scheme) as found:
        found.page.locator("summary").first.click()
        result = axe.run(found.page)
        back = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert len(result.response["passes"]) > 20
    assert result.violations_count == 0, result.generate_report()
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


def test_nothing_is_wider_than_a_phone(browser: Any, report: Path) -> None:
    with opened(browser, report, viewport=PHONE, has_touch=True) as found:
        assert found.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert found.page.locator("#effects-table tbody tr").first.is_visible()
    assert found.complaints == []


def test_a_phone_shows_ten_decisions_at_a_time(browser: Any, report: Path) -> None:
    with opened(browser, report, viewport=PHONE) as found:
        page = found.page
        assert page.locator("#effects-table tbody tr").count() == 10
        page.locator("#effects-after").click()
        assert column(page, "rank")[0] == "11"
        cards = [row.bounding_box() for row in page.locator("#effects-table tbody tr").all()]
        assert all(0 < card["height"] < 330 for card in cards), "a card fits a small screen"


def test_on_paper_decisions_are_a_table_and_what_was_folded_is_open(page: Any) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 is narrower than a screen
    row = page.locator("#effects-table tbody tr").first
    assert row.evaluate("row => getComputedStyle(row).display") == "table-row"
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    folded = page.locator("details[data-print]")
    assert folded.is_visible() is False
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert folded.locator("tbody tr").count() > 5
    assert folded.locator("tbody tr").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert folded.get_attribute("open") is None


def test_every_control_is_reached_by_the_tab_key(page: Any) -> None:
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "keep-number", "decisions-search", "decisions-filter"} <= reached


def test_without_scripts_the_answer_the_curves_and_the_first_rows_are_there(
    browser: Any, report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".drawing svg").first.is_visible()
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
        assert HOSTILE in page.locator("h1").inner_text()
        assert HOSTILE in page.locator("#effects-table tbody .c-state").first.inner_text()
        page.mouse.move(400, 700)
        assert page.evaluate("window.pwned") is None
    assert found.complaints == []
