"""Where results go: the figures and the decisions of a run, sent to experiment trackers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from rpd_core.errors import ComponentError, ConfigError, nearest
from rpd_core.results.run import Run
from rpd_core.results.words import few
from rpd_core.store.codec import to_plain
from rpd_work.figures import figures_of
from rpd_work.options import OPTIONS, TrackerOptions

_NEEDED = {
    "tensorboard": ("torch.utils.tensorboard", "tensorboard"),
    "wandb": ("wandb", "wandb"),
    "mlflow": ("mlflow", "mlflow"),
}
"""What must be importable for each tracker, and what to install."""


def log_to(run: Run, tracker: str, *, step: int = 0, **options: Unpack[TrackerOptions]) -> None:
    """Send the figures of a run, as `rpd/...`, and its decisions to a tracker."""
    if tracker not in [*_NEEDED]:  # a list can be asked for anything
        raise ConfigError(
            f"no tracker is called {tracker!r}: there are {', '.join(_NEEDED)}."
            f"{nearest(tracker, _NEEDED)}"
        )
    _check(tracker, options)
    module, package = _NEEDED[tracker]
    try:
        library = importlib.import_module(module)
    except ImportError as error:
        raise ComponentError(
            f"logging to {tracker} needs a package: pip install {package}"
        ) from error
    figures = {f"rpd/{name}": value for name, value in figures_of(run).items()}
    _SENDERS[tracker](library, run, figures, step, {**options})


def _check(tracker: str, options: Iterable[str]) -> None:
    """Refuse a keyword that the tracker does not take, before anything is sent."""
    known = OPTIONS[tracker].__annotations__
    for name in options:
        if name not in known:
            there = nearest(name, known) or f" It takes {', '.join(known)}."
            raise ConfigError(f"log_to({tracker!r}) has no argument {name!r}.{there}")


def _to_tensorboard(
    library: Any, run: Run, figures: dict[str, float], step: int, options: dict[str, Any]
) -> None:
    folder = options.get("log_dir", run.path / "tensorboard")
    with library.SummaryWriter(str(folder)) as writer:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)
        writer.add_text("rpd/list", _as_markdown(run), step)


def _to_wandb(
    library: Any, run: Run, figures: dict[str, float], step: int, options: dict[str, Any]
) -> None:
    began = library.run is None
    active = library.init(**options) if began else library.run
    names, rows = _as_rows(run)
    table = {"rpd/list": library.Table(columns=names, data=rows)} if rows else {}
    active.log({**figures, **table}, step=step or None)
    if began:  # whoever began another one goes on with it
        active.finish()


def _to_mlflow(
    library: Any, run: Run, figures: dict[str, float], step: int, options: dict[str, Any]
) -> None:
    began = library.active_run() is None
    if began:
        library.start_run(**options)
    library.log_metrics(figures, step=step)
    library.log_params({"rpd_env": run.summary.env, "rpd_policy": run.summary.policy_spec})
    library.log_dict({"decisions": to_plain(list(run.decisions))}, "rpd/decisions.json")
    if began:
        library.end_run()


_SENDERS: dict[str, Callable[..., None]] = {
    "tensorboard": _to_tensorboard,
    "wandb": _to_wandb,
    "mlflow": _to_mlflow,
}


def _as_rows(run: Run) -> tuple[list[str], list[list[Any]]]:
    plain = [to_plain(one) for one in run.decisions]
    names = list(plain[0]) if plain else []
    return names, [[_cell(row[name]) for name in names] for row in plain]


def _cell(value: Any) -> Any:
    """Return a value of a table; keys of 64 bits are more than some can hold."""
    return str(value) if isinstance(value, int) and value.bit_length() > 53 else value


def _as_markdown(run: Run) -> str:
    lines = ["| state | policy | default | loss |", "|---|---|---|---|"]
    for one in run.decisions:
        cells = (one.state, one.policy_action, one.default_action, few(one.loss))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
