"""How a command plays: who does the work, what is trusted, and what is shown meanwhile."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rpd_core.cli import options
from rpd_core.cli.console import end_bars, errors
from rpd_core.cli.shared import BAD_INPUT, show_note, tidied
from rpd_core.errors import ConfigError

ISOLATE = True
"""Whether one worker is a process of its own, which can be ended when it hangs."""


@dataclass(frozen=True)
class Work:
    """What was typed about how to play; `plays` adds the options that make it."""

    workers: options.Workers = None
    executor: options.ExecutorName = "local"
    stall_timeout: options.StallTimeout = None
    load_timeout: options.LoadTimeout = None
    trust_policy: options.TrustPolicy = False

    def check(self, typed: Mapping[str, Any]) -> None:
        """Refuse what can be seen to be wrong before anything is imported that takes long."""
        from rpd_core.plugin.registry import installed

        check_typed_early(typed)
        registry = installed()
        registry.find("executor", registry.name_in("executor", self.executor))

    def how(self, progress: Any) -> dict[str, Any]:
        """Return the arguments of `rpd.run`, and of all that plays, that say how."""
        from rpd_core.execute.local import usable_cores

        loading = {} if self.load_timeout is None else {"load_timeout": self.load_timeout}
        return {
            **loading,
            "workers": self.workers or usable_cores(),
            "executor": self._executor(),
            "trust_policy": self.trust_policy,
            "progress": progress,
            "note": show_note,
            "guard": self.guard,
        }

    def _executor(self) -> Any:
        """Return the executor; local work gets a process of its own, which can be ended."""
        from rpd_core.plugin.registry import installed

        executor = installed().make("executor", self.executor)
        wanted = {"isolate": ISOLATE, "stall_timeout": self.stall_timeout}
        known = {item.name for item in dataclasses.fields(executor)}
        if self.stall_timeout is not None and "stall_timeout" not in known:
            raise ConfigError(
                f"the executor {self.executor!r} has no stall_timeout: leave --stall-timeout out"
            )
        changes = {k: v for k, v in wanted.items() if k in known and v is not None}
        return dataclasses.replace(executor, **changes)

    @contextmanager
    def guard(self, label: str) -> Iterator[None]:
        """End rpd when what it does itself, not a worker of its own, makes no progress."""
        with guarded(label, self.stall_timeout):
            yield


def check_typed_early(typed: Mapping[str, Any]) -> None:
    """Refuse settings that can be seen to be wrong before anything is imported that takes long."""
    from rpd_core.config.typed import check_typed
    from rpd_core.plugin.registry import installed

    check_typed(typed, installed())


def loading_seconds(typed: float | None) -> float:
    """Return how long a policy may take to be loaded, as it was typed or as it is usual."""
    from rpd_core.config.settings import check_value, declared

    setting = declared()["load_timeout"]
    seconds: float = check_value("load_timeout", setting.default if typed is None else typed)
    return seconds


@contextmanager
def guarded(label: str, stall_timeout: float | None) -> Iterator[None]:
    """End rpd when what it does itself makes no progress."""
    from rpd_core.play import heartbeat

    def give_up(report: str) -> None:
        end_bars()
        errors().print(f"rpd: {tidied(report)}", style="red", markup=False)
        os._exit(BAD_INPUT)  # whoever hangs would not hear of an exception

    watch = heartbeat.Watch(heartbeat.numbers(), stall_timeout or heartbeat.STALL_TIMEOUT)
    with heartbeat.watched(watch, label, give_up):
        yield


def plays(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command that takes `work: Work` with the options that `Work` is made of."""

    def wrapped(**typed: Any) -> Any:
        work = Work(**{name: typed.pop(name) for name in fields})
        return command(work=work, **typed)

    own = inspect.signature(command, eval_str=True).parameters.values()
    fields = inspect.signature(Work, eval_str=True).parameters
    added = [one.replace(kind=one.KEYWORD_ONLY) for one in fields.values()]
    options.set_parameters(wrapped, command, [p for p in own if p.name != "work"], added)
    return wrapped
