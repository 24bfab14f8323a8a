"""Figures show what the run holds, and the same run gives the same bytes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import typing
from pathlib import Path

import matplotlib as mpl
import pytest
from commands import refusal, rpd_command
from matplotlib.figure import Figure
from page_worlds import panel
from stores import ready, tree
from strangers import having, plugin

import rpd
from rpd.face import FigureName, Run
from rpd_core.errors import ConfigError
from rpd_core.pruning.curves import mean_curve, shown_curves
from rpd_core.store.codec import to_plain
from rpd_pictures.drawing import FIGURES, PAGE
from rpd_pictures.figures.balance import balance_data
from rpd_pictures.figures.curves import curves_data, draw_curves
from rpd_pictures.figures.style import line_styles, rendered, short_spec
from rpd_pictures.subjects import SUBJECTS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return ready(tmp_path_factory.mktemp("plotted") / "run")


def lines(figure: Figure, panel: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return the lines of a panel by their labels."""
    found = figure.axes[panel].get_lines()
    return {str(one.get_label()): (list(one.get_xdata()), list(one.get_ydata())) for one in found}


def test_the_curves_are_the_stored_ones_in_shares_of_the_policys_return(run: Run) -> None:
    figure = run.draw("curves")
    assert isinstance(figure, Figure)
    drawn = lines(figure, 0)
    assert {*run.curves, "random (mean)"} <= {*drawn}
    stored = run.curves["ochiai"]
    assert drawn["ochiai"][0] == stored.shares.tolist()
    assert drawn["ochiai"][1] == pytest.approx((stored.mean_return / 3.5).tolist())
    pooled = mean_curve("random", run.random_curves)
    assert drawn["random (mean)"][1] == pytest.approx((pooled.mean_return / 3.5).tolist())
    confirmed = run.summary.policy
    assert confirmed is not None
    assert drawn["smallest policy, confirmed"] == ([confirmed.states], [confirmed.share])
    path = [(one.states, one.share) for one in confirmed.front]
    path.append((confirmed.states, confirmed.share))
    assert [*zip(*drawn["minimising"], strict=True)] == path
    assert {*lines(run.draw("curves", measure="wong2"), 0)} >= {"wong2", "random (mean)"}
    assert "ochiai" not in lines(run.draw("curves", measure="wong2"), 0)


def test_the_figure_shows_the_numbers_of_the_curves(run: Run) -> None:
    """One band for all: what the figure fills is what the core says."""
    found = shown_curves(run.curves, run.random_curves)
    original = run.summary.original
    figure = run.draw("curves")
    filled = [one.get_paths()[0].vertices for one in figure.axes[0].collections]
    assert len(filled) == len(found)
    for vertices, curve in zip(filled, found.values(), strict=True):
        shown = curve.rescaled(original.reference, original.return_mean)
        ends = [*zip(shown.states, shown.low, strict=True)]
        ends += [*zip(shown.states, shown.high, strict=True)]
        assert {(round(x, 9), round(y, 9)) for x, y in vertices.tolist()} == {
            (round(x, 9), round(y, 9)) for x, y in ends
        }


def test_scores_are_in_rank_order_with_a_panel_each(run: Run) -> None:
    figure = run.draw("scores", measure=("ochiai", "freqvis"))
    assert [axes.get_title("left").partition(" ")[0] for axes in figure.axes] == (
        ["ochiai", "freqvis"]
    )
    ranking = run.ranked("ochiai")
    (line,) = figure.axes[0].get_lines()
    assert list(line.get_ydata()) == ranking.scores[ranking.order].tolist()


def test_decisions_are_those_of_the_smallest_policy_first_on_top(run: Run) -> None:
    figure = run.draw("decisions", count=3)
    axes = figure.axes[0]
    rows = run.top(3)
    labels = [one.get_text() for one in axes.get_yticklabels()]
    assert labels == [f"{row.state}  {row.rank}" for row in rows]
    ends = [tuple(line.get_xdata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
    assert [(row.loss_low, row.loss_high) for row in rows] == ends[1:4], "after the line at 0"
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_no_condition_of_a_rule_is_hidden_in_a_figure(run: Run) -> None:
    opened = rpd.open_run(run.path)
    rule = " and ".join(f"{place} <= entry {place} < {place + 0.5}" for place in range(8))
    rows = tuple(dataclasses.replace(row, state=rule) for row in run.decisions)
    plain = json.loads(json.dumps(to_plain(run.summary.configuration)))
    plain["suite"]["settings"]["abstraction"] = ["rules"]
    vars(opened)["summary"] = dataclasses.replace(run.summary, decisions=rows, configuration=plain)
    label = opened.draw("decisions").axes[0].get_yticklabels()[0].get_text()
    assert " ".join(label.split()) == f"{rule} 1"


def test_the_balance_counts_every_episode_once(run: Run) -> None:
    data = balance_data(run)
    assert data.passed.sum() == run.analysis.weights.sum()
    assert data.passed.sum() + data.failed.sum() == run.summary.suite.episodes
    assert run.draw("balance").axes[0].get_xlabel() == "return of a mutant episode"


@pytest.mark.parametrize("name", ["timeline", "barcode", "proof"])
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_picture_of_the_page_is_a_file_of_any_kind(
    run: Run, tmp_path: Path, name: str, kind: str
) -> None:
    out = tmp_path / f"{name}.{kind}"
    rpd.open_run(run.path).draw(name, out)
    begins = {"svg": b"<svg ", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert out.read_bytes().startswith(begins[kind])
    again = tmp_path / f"again.{kind}"
    rpd.open_run(run.path).draw(name, again)
    assert again.read_bytes() == out.read_bytes()


def test_the_map_is_what_a_panel_draws(run: Run, tmp_path: Path) -> None:
    """The corridor has no plane, but a panel of a stranger's may draw it."""
    told = refusal("draw", run.path, "map", "--out", tmp_path / "a.png")
    assert "has no map to draw" in told
    with having(plugin("rpd-drawn", "1", (panel("drawn", "Good"),))):
        rpd.open_run(run.path).draw("map", tmp_path / "a.svg")
        assert b"Label " in (tmp_path / "a.svg").read_bytes()
        told = refusal("draw", run.path, "map", "--pair", "1,2", "--out", tmp_path / "a.png")
    assert "there is no map over '1 and 2'" in told


# --------------------------------------------------------------------------------- as files


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_run_gives_the_same_bytes_whatever_the_users_settings(
    run: Run, tmp_path: Path, kind: str
) -> None:
    before = tree(run.path)
    first, second = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    shown = rpd_command("draw", run.path, "curves", "--out", first)
    assert (shown.exit_code, shown.stdout.strip()) == (0, str(first))
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.grid": False}):
        assert rpd_command("draw", run.path, "curves", "--out", second).exit_code == 0
        assert mpl.rcParams["font.size"] == 30
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[:4] == {"png": b"\x89PNG", "svg": b"<?xm", "pdf": b"%PDF"}[kind]
    assert tree(run.path) == before


def test_figures_need_no_pyplot_and_reading_a_run_needs_no_matplotlib(run: Run) -> None:
    program = (
        "import sys, rpd; run = rpd.open_run(sys.argv[1]); run.top(3);"
        "assert 'matplotlib' not in sys.modules;"
        "png = run.draw('decisions')._repr_png_();"
        "assert png[:4] == bytes([0x89]) + b'PNG';"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, run.path], check=True)


def test_a_name_with_signs_of_formulas_is_drawn_as_it_is(run: Run) -> None:
    data = curves_data(run, ("ochiai",))
    hostile = dataclasses.replace(data, title=r"$\frac{1}{$ <b> & \alpha_{")
    assert rendered(draw_curves(hostile), "svg")
    assert short_spec("sb3:/home/me/a/policy.zip") == "sb3:policy.zip"
    assert len(short_spec("x" * 500)) == 60


def test_every_measure_has_a_line_of_its_own() -> None:
    names = ["tarantula", "ochiai", "zoltar", "wong2", "effect", "effect:shrunken", "freqvis",
             "effect-return:shrunken",
             "impact:shrunken", "differ", "random", "one", "two", "three"]  # fmt: skip
    styles = line_styles(names)
    assert len({(one.color, one.dashes, one.width) for one in styles.values()}) == len(names)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("curvs",),
            "'curvs' cannot be drawn. Did you mean 'curves'? Draw one of: curves, scores",
        ),
        (("curves", "--out", "a.jpg"), "must end in .png, .svg or .pdf"),
        (
            ("curves", "--measure", "ochia"),
            "was not pruned in this analysis. Did you mean 'ochiai'",
        ),
        (("decisions", "--count", "0"), "count must be a whole number of at least 1, got 0"),
        (("map",), "has no map to draw"),
        (("map", "--pair", "x"), "--pair takes two entries"),
        (("scores", "--analysis", "no"), "has no analysis 'no'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(run: Run, words: tuple[str, ...], told: str) -> None:
    assert told in refusal("draw", run.path, *words)


def test_every_subject_that_plays_nothing_is_a_figure_and_the_face_names_them() -> None:
    figures = [name for name, subject in SUBJECTS.items() if not subject.plays]
    assert {*figures} == {*FIGURES, *PAGE} == {*typing.get_args(FigureName)}


def test_a_figure_is_written_only_where_a_file_is_named(run: Run, tmp_path: Path) -> None:
    run.draw("balance")
    assert [*tmp_path.iterdir()] == []
    figure = run.draw("balance", tmp_path / "balance.svg")
    assert (tmp_path / "balance.svg").read_bytes() == rendered(figure, "svg")
    out = tmp_path / "curves.png"
    told = json.loads(rpd_command("draw", run.path, "curves", "--out", out, "--json").stdout)
    assert told == {"file": str(out)}


def test_what_does_not_fit_is_refused_in_python_too(run: Run) -> None:
    with pytest.raises(ConfigError, match="--count is for decisions, not for curves"):
        run.draw("curves", count=3)
    with pytest.raises(ConfigError, match=r"has no argument 'cuont'. Did you mean 'count'"):
        run.draw("decisions", cuont=3)
