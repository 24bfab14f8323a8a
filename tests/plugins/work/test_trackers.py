"""Figures and decisions of a run in the trackers themselves, and in other programs' tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rpd
from rpd_core.errors import ComponentError, ConfigError
from rpd_work.figures import figures_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return rpd.run(
        "cartpole", out=tmp_path_factory.mktemp("tracked") / "run", episodes=600, test_episodes=20,
        confirm_episodes=100, confirm_margin=0.1, progress=False, finish=(),
    )  # fmt: skip


@pytest.mark.extras
def test_tensorboard_holds_the_figures(run: Any) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run.log_to("tensorboard", step=7)
    log = events.EventAccumulator(str(run.path / "tensorboard"))
    log.Reload()
    logged = {tag: [(one.step, one.value) for one in log.Scalars(tag)] for tag in figures(run)}
    assert logged == {tag: [(7, pytest.approx(value))] for tag, value in figures(run).items()}


@pytest.mark.extras
def test_mlflow_holds_the_figures_and_the_decisions(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"file:{tmp_path / 'mlruns'}")
    with mlflow.start_run() as active:
        run.log_to("mlflow", step=3)
    found = mlflow.get_run(active.info.run_id).data
    assert found.metrics == pytest.approx(figures(run))
    assert found.params["rpd_env"] == "cartpole"


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wandb_holds_the_figures(run: Any, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", dir=tmp_path) as active:
        run.log_to("wandb")
        held = {tag: active.summary[tag] for tag in figures(run)}
    assert held == pytest.approx(figures(run))


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wandb_ends_the_run_that_it_began_and_no_other(run: Any, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", dir=tmp_path) as active:
        run.log_to("wandb", project="of no use here")
        assert wandb.run is active
    run.log_to("wandb", mode="offline", dir=tmp_path)
    assert wandb.run is None


def figures(run: Any) -> dict[str, float]:
    return {f"rpd/{name}": value for name, value in figures_of(run).items()}


def test_a_tracker_that_is_missing_or_unknown_is_one_line(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"no tracker is called 'wandbb'.*Did you mean 'wandb'"):
        run.log_to("wandbb")
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    with pytest.raises(ComponentError, match="logging to wandb needs a package: pip install wandb"):
        run.log_to("wandb")


def test_tables_of_decisions_hold_the_same_in_arrow_and_pandas(run: Any) -> None:
    assert len(run.decisions) > 5
    table = run.decisions.to_arrow()
    assert table["key"].to_pylist() == [one.key for one in run.decisions]
    assert table["loss"].to_pylist() == [one.loss for one in run.decisions]
    assert run.decisions.to_dataframe()["state"].tolist() == table["state"].to_pylist()
    assert run.effects(4).to_arrow().num_rows == 4


@pytest.mark.extras
def test_tables_reach_polars(run: Any) -> None:
    pytest.importorskip("polars")
    assert run.decisions.to_polars()["key"].to_list() == [one.key for one in run.decisions]
    ranking = run.ranking("ochiai")
    assert ranking.to_polars()["score"].to_list() == ranking.columns["score"].tolist()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_table_says_which_package_it_wants(package: str, run: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    method = {"pandas": "to_dataframe", "polars": "to_polars"}[package]
    for table in (run.decisions, run.ranking("ochiai")):
        with pytest.raises(ComponentError, match=f"not installed: pip install {package}"):
            getattr(table, method)()


def test_a_tracker_refuses_the_keywords_of_another(run: Any) -> None:
    with pytest.raises(ConfigError, match=r"log_to\('mlflow'\) has no argument 'project'"):
        run.log_to("mlflow", project="mine")
