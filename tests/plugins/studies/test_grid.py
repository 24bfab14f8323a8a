"""Grids on a small world: shared suites, rows, failures, what is resumed, tables."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import worlds
from browser import chromium
from scipy import stats
from stores import corridor, tree

import rpd
from rpd_core.config.settings import STANDARD_MEASURES
from rpd_core.errors import ConfigError, StoreError
from rpd_core.execute.local import LocalProcesses, ThisProcess
from rpd_core.store.directory import RunDirectory
from rpd_studies.cost import estimate_grid
from rpd_studies.grid_command import show_grid
from rpd_studies.results import Grid, GridRow, Spread
from rpd_studies.series import standing

SMALL = {**corridor().given(), "env": worlds.Corridor(), "policy": worlds.Goes()}
CONDITIONS = ("return>=2.5", "return>=1.5")
NONE_PASSES = "return>=1000"


def plan(**more: Any) -> dict[str, Any]:
    """Return a grid: three conditions on one suite per seed, of which one fails; another rate."""
    crossed = {"condition": [*CONDITIONS, NONE_PASSES]}
    grid = {"seeds": [3, 4, 5], "finish": "sweep", "all": SMALL, "cross": crossed}
    return grid | {"cell": [{"mutation_rate": 0.5}]} | more


class Counting:
    """An executor that counts how often it was opened."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self, workers: int) -> Any:
        self.opened += 1
        return LocalProcesses().open(1)


@pytest.fixture(scope="module")
def executor() -> Counting:
    return Counting()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grid") / "runs"


@pytest.fixture(scope="module")
def notes() -> list[str]:
    return []


@pytest.fixture(scope="module")
def found(folder: Path, executor: Counting, notes: list[str]) -> Grid:
    return rpd.grid(plan(), out=folder, executor=executor, progress=False, note=notes.append)


def runs_in(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/run.json"))


def test_cells_that_differ_in_the_question_alone_share_a_suite(found: Grid, folder: Path) -> None:
    """Four cells and three seeds are twelve runs, on six suites of sixty episodes."""
    assert [len(row.results) for row in found.rows] == [3, 3, 0, 3]
    assert len(runs_in(folder)) == 6
    for run in runs_in(folder):
        assert RunDirectory(run).suite().count() == 60
        assert len(list((run / "suite" / "episodes").glob("part-*.parquet"))) == 3
    first, second, _, other = ({one.path for one in row.results} for row in found.rows)
    assert first == second
    assert not first & other
    told = [row.results[0].condition for row in found.rows if row.results]
    assert told == [*CONDITIONS, CONDITIONS[0]]


def test_one_engine_serves_the_whole_grid(found: Grid, executor: Counting) -> None:
    assert executor.opened == 1


def test_a_cell_that_fails_is_a_row_that_says_why(
    found: Grid, folder: Path, notes: list[str]
) -> None:
    bad = found.rows[2]
    assert (bad.results, bad.figures) == ((), {})
    assert [one.seed for one in bad.failed] == [3, 4, 5]
    assert "failed" in bad.failed[0].why
    assert found.failed == 1
    row = pq.read_table(folder / "table.parquet").to_pylist()[2]
    assert (row["failed"], row["seeds"], row["return.mean"]) == (3, 0, None)
    assert row["why"].startswith(f"seed 3: {bad.failed[0].why}")
    for name in ("table.md", "grid.html"):
        assert "Cell 3 failed with seed" in (folder / name).read_text("utf-8")
    assert notes[0] == f"cell 3 of 4, seed 3 failed: {bad.failed[0].why}"


def test_a_whole_answer_has_the_figures_of_its_run(found: Grid, tmp_path: Path) -> None:
    """And a grid that ends with the sweep has the same, of the same episodes."""
    more = plan(finish="answer", seeds=[3], cross={"condition": [CONDITIONS[0]]}, cell=[])
    (row,) = rpd.grid(more, out=tmp_path, progress=False).rows
    (one,) = row.results
    summary = rpd.open_run(tmp_path / one.path).summary
    for percent, fraction in (("90", "0.9"), ("50", "0.5")):
        for name in ("portfolio", "random", "tarantula", "wong2"):
            entry = summary.thresholds[fraction][name]
            names = f"states{percent}.{name}", f"steps{percent}.{name}"
            values = [one.figures[figure] for figure in names]
            if entry is None:
                assert {*names} <= {*one.never}
                assert values == [1.0, 1.0]
            else:
                assert values == [entry.fewest_states.states, entry.fewest_steps.steps]
        chosen = summary.policies[fraction]
        kept = chosen.kept if chosen and chosen.met else summary.suite.states
        assert one.figures[f"policy{percent}.kept"] == kept
    assert one.figures["return"] == summary.original.return_mean
    assert one.figures["passed"] == summary.pass_rates.suite
    assert (one.seed, row.figures["return"].std) == (3, None)
    swept = found.rows[0].results[0]
    assert swept.figures.items() <= one.figures.items()
    assert swept.curves == one.curves


def test_means_deviations_and_intervals_are_those_of_a_t_test(found: Grid) -> None:
    checked = 0
    for row in found.rows:
        for name, spread in row.figures.items():
            values = np.array([one.figures[name] for one in row.results])
            assert spread.mean == pytest.approx(values.mean(), rel=1e-12)
            assert spread.std == pytest.approx(values.std(ddof=1), rel=1e-12, abs=1e-15)
            if values.std() > 0:
                low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
                assert (spread.low, spread.high) == pytest.approx((low, high), rel=1e-9)
                checked += 1
    assert checked > 10


def test_the_tables_hold_every_number_and_are_all_named(
    found: Grid, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = pq.read_table(folder / "table.parquet").to_pylist()
    assert [row["cell"] for row in cells] == [1, 2, 3, 4]
    assert [row["condition"] for row in cells] == [*CONDITIONS, NONE_PASSES, None]
    assert [row["mutation_rate"] for row in cells] == [None, None, None, "0.5"]
    seeds = pq.read_table(folder / "seeds.parquet").to_pylist()
    assert [(row["cell"], row["seed"]) for row in seeds] == [
        (cell, seed) for cell in (1, 2, 3, 4) for seed in (3, 4, 5)
    ]
    values = [row["states90.portfolio"] for row in seeds if row["cell"] == 2]
    assert cells[1]["states90.portfolio.mean"] == pytest.approx(sum(values) / 3)
    assert cells[1]["failed"] == 0
    text = (folder / "table.md").read_text("utf-8")
    spread = found.rows[1].figures["states90.portfolio"]
    assert spread.std is not None
    assert f"{100 * spread.mean:.1f} ± {100 * spread.std:.1f} [" in text
    show_grid(found, as_json=False)
    told = capsys.readouterr().out.splitlines()[-1].removeprefix("Tables: ").split(", ")
    assert [Path(one).name for one in told] == [
        "grid.html", "table.parquet", "seeds.parquet", "table.md",
    ]  # fmt: skip
    page = (folder / "grid.html").read_text("utf-8")
    assert "FreqVis ranks states by how often they are visited" in page


class Idle:
    """An executor whose engine refuses to work."""

    @contextmanager
    def open(self, workers: int) -> Iterator[Idle]:
        yield self

    def execute(self, queue: Any) -> Any:
        raise AssertionError("there is nothing left to do")


def test_what_is_finished_is_read_and_not_played(found: Grid, folder: Path) -> None:
    before = {name: entry for name, entry in tree(folder).items() if "/suite/" in name}
    more = plan(seeds=[4], cross={"condition": [CONDITIONS[1]]}, cell=[])
    (row,) = rpd.grid(more, out=folder, executor=Idle(), progress=False).rows
    assert row.results == found.rows[1].results[1:2]
    assert {name: entry for name, entry in tree(folder).items() if "/suite/" in name} == before


def test_an_estimate_lists_the_runs_and_counts_each_suite_once(
    found: Grid, folder: Path, tmp_path: Path
) -> None:
    """Sixty mutants per suite; all measures and two random rankings at three shares of five."""
    planned = estimate_grid(plan(seeds=[3]), out=tmp_path / "new", progress=False)
    assert [run.suite_episodes for run in planned.runs] == [60, 0, 0, 60]
    assert {run.pruning_episodes for run in planned.runs} == {(len(STANDARD_MEASURES) + 2) * 3 * 5}
    assert (planned.suites, planned.runs[0].finished) == (2, False)
    assert planned.seconds > 0
    assert not (tmp_path / "new").exists()


def test_a_plugin_that_raises_anything_fails_its_cell_alone(tmp_path: Path) -> None:
    def broken(episodes: Any) -> Any:
        raise KeyError("no such thing")

    more = plan(seeds=[3], cross={"condition": [broken]}, cell=[])
    found = rpd.grid(more, out=tmp_path / "g", progress=False, note=lambda text: None)
    assert "no such thing" in found.rows[0].failed[0].why


def test_a_policy_file_that_is_not_there_fails_its_cell_alone(tmp_path: Path) -> None:
    """Which an estimate says before."""
    cells = [{"policy": f"sb3:{tmp_path}/none.zip"}, {"policy": worlds.Goes()}]
    more = plan(seeds=[3], cross={}, cell=cells)
    del more["cross"]
    planned = estimate_grid(more, out=tmp_path / "g", progress=False)
    assert (planned.failing, len(planned.runs)) == (1, 2)
    assert "none.zip' does not exist: check the path" in planned.runs[0].problem
    found = rpd.grid(more, out=tmp_path / "g", progress=False, note=lambda text: None)
    assert found.rows[0].failed[0].why == planned.runs[0].problem
    assert [len(row.results) for row in found.rows] == [0, 1]


def test_a_full_disk_ends_the_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rpd_studies import grid

    def full(*_: object) -> None:
        error = OSError(28, "No space left on device")
        raise StoreError("cannot write") from error

    monkeypatch.setattr(grid, "play_cell", full)
    with pytest.raises(StoreError):
        rpd.grid(plan(), out=tmp_path / "g", progress=False)


def test_a_page_escapes_what_it_is_told(tmp_path: Path) -> None:
    from rpd_studies.pages import grid_page
    from rpd_studies.results import Failure

    row = GridRow(1, {"policy": "<script>alert(1)</script>"}, {}, (), (Failure(0, "<img src=x>"),))
    text = grid_page(Grid("<b>", "f", (0,), "answer", {"env": "<i>"}, (), (row,)))
    for sign in ("<script", "<img src=x", "<b>", "<i>"):
        assert sign not in text
    assert "default-src 'none'" in text
    assert "&lt;script&gt;" in text


@pytest.mark.extras
@pytest.mark.parametrize("width", [1200, 390])
def test_settings_on_the_page_are_not_broken_letter_by_letter(width: int, tmp_path: Path) -> None:
    from rpd_studies.pages import grid_page

    wide = Spread(0.4, 0.354, 0.0, 1.0, 2)
    figures = dict.fromkeys(("return", "policy90.kept", "policy90.states", "policy90.steps",
                             "states90.portfolio", "steps90.portfolio"), wide)  # fmt: skip
    settings = [
        {"condition": "return>=100", "policy": "cartpole:good"},
        {"condition": "return>=100", "policy": f"sb3:{'a' * 200}.zip"},
    ]
    rows = tuple(GridRow(n, some, figures, (), ()) for n, some in enumerate(settings, 1))
    page = tmp_path / "grid.html"
    page.write_text(grid_page(Grid("g", "f", (0, 1), "answer", {}, (), rows)), encoding="utf-8")
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": width, "height": 900})
        opened.goto(page.as_uri())
        head = opened.locator("thead th.word").evaluate_all(_LINES)
        first = opened.locator("tbody tr:first-child .word").evaluate_all(_LINES)
        assert (head, first) == ([1, 1, 1], [1, 1, 1])
        assert 1 < opened.locator("tbody tr:last-child td.word >> nth=1").evaluate(_LINE) < 20
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


_LINE = """cell => {
  const range = document.createRange(); range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size
}"""
_LINES = f"cells => cells.map({_LINE})"


def test_a_run_is_no_folder_of_a_grid(found: Grid, folder: Path) -> None:
    with pytest.raises(ConfigError, match="is a run, not the folder of many"):
        rpd.grid(plan(), out=runs_in(folder)[0], progress=False)
    with pytest.raises(ConfigError, match="has no argument 'episodes': settings stand in the plan"):
        rpd.grid(plan(), episodes=5)


def test_a_target_that_was_never_reached_is_counted_and_written() -> None:
    from rpd_studies.figure_names import heading, written

    some = Spread(0.775, 0.318, 0.1, 1.0, 4, 1)
    assert written("states90.portfolio", some) == "77.5 ± 31.8 (never: 1 of 4)"
    assert written("states90.portfolio", Spread(1.0, 0.0, 1.0, 1.0, 4, 4)) == "never"
    assert written("return", Spread(12.0, None, None, None, 1)) == "12"
    far = Spread(0.426, 0.248, -1.798, 2.651, 2)
    assert written("states90.portfolio", far, interval=True) == "42.6 ± 24.8 [0.0, 100.0]"
    assert written("return", far, interval=True) == "0.426 ± 0.248 [-1.798, 2.651]"
    assert heading("steps50.random") == "steps for 50 %: random"


def test_a_band_is_a_deviation_wide_and_ends_where_no_seed_goes() -> None:
    from rpd_core.pruning.curves import ShownCurve
    from rpd_pictures.figures.curves import band_of

    def band(*shares: float) -> tuple[float, float, float]:
        ends = ((share,) for share in shares)
        curves = [ShownCurve("m", (0,), (0.0,), (0.0,), end, end, end, (1,)) for end in ends]
        found = band_of([[curve] for curve in curves], "states")
        return found.low[0], found.mean[0], found.high[0]

    assert band(0.5) == (0.5, 0.5, 0.5)
    assert band(0.6, 1.0) == (0.6, 0.8, 1.0)
    assert band(0.0, 0.5, 1.0, 0.5, 0.5) == pytest.approx((0.5 - 0.125**0.5, 0.5, 0.5 + 0.125**0.5))


def test_a_narrow_screen_shows_the_columns_that_fit_and_names_the_others() -> None:
    from rich.console import Console

    from rpd_studies.grid_tables import print_grid

    def printed(width: int) -> str:
        console = Console(width=width, file=io.StringIO())
        print_grid(console, Grid("g", "f", (0, 1), "answer", {}, (), (row,)))
        return " ".join(console.file.getvalue().split())

    figures = dict.fromkeys(("states90.portfolio", "steps90.portfolio"), Spread(0.4, 0.3, 0, 1, 2))
    row = GridRow(1, {"condition": "return>=100", "policy": "cartpole:good"}, figures, (), ())
    narrow, wide = printed(90), printed(160)
    assert "1 return>=100 cartpole:good 0 – – – – 40.0 ± 30.0 Left out" in narrow
    assert "Left out for want of room: 'steps for 90 %: portfolio'; table.md has all." in narrow
    assert "1 return>=100 cartpole:good 0 – – – – 40.0 ± 30.0 40.0 ± 30.0 Figures" in wide
    assert "interval" not in wide, "which this table does not show"


def test_work_that_takes_another_number_of_workers_gets_an_engine_of_its_own() -> None:
    with standing(LocalProcesses(), 2) as executor:
        with executor.open(2) as engine:
            assert engine is executor.engine
        with executor.open(1) as engine:
            assert isinstance(engine, ThisProcess)
