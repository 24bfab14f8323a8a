"""What `forward` of a file does: evaluated with all checks, or repeated along a known route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rpd_core.errors import EpisodeError
from rpd_torchscript.evaluation import Evaluation
from rpd_torchscript.limits import (
    Contradiction,
    Exhausted,
    Fault,
    Forbidden,
    Meter,
    damaged,
    last_line,
    refused,
)
from rpd_torchscript.route import LONGEST, Recorder, Route
from rpd_torchscript.syntax import Library
from rpd_torchscript.values import Module

_MOST_ROUTES = 32


class Program:
    """The method `forward` of a module that never changes."""

    def __init__(
        self,
        path: Path,
        library: Library,
        constants: Sequence[Any],
        module: Module,
        tensors: Sequence[Tensor],
    ) -> None:
        self.path, self.library, self.constants, self.module = path, library, constants, module
        pointers = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        self.frozen = frozenset(pointers - {0})
        """Where the memory of weights and constants begins."""
        self.routes: dict[Any, Route | None] = {}
        """By the shapes of the inputs; None: numbers decide, so every call is checked."""
        self.last: tuple[str, ...] = ()
        """The functions at the end of the first output of the first call, the last one first."""

    def __call__(self, given: dict[str, Any]) -> Any:
        """Call `forward` with arguments by name; whatever goes wrong in it becomes one line."""
        try:
            key = tuple(map(_shapes, given.items()))
            route = self.routes.get(key)
            if route is not None:
                return route(list(_tensors(given)))
            return self._evaluate(given, key)
        except (Forbidden, Exhausted) as error:
            raise refused(self.path, str(error), getattr(error, "remedy", "refused")) from error
        except Contradiction as error:
            raise damaged(self.path, str(error)) from error
        except RecursionError as error:
            raise damaged(self.path, "its code is nested too deeply") from error
        except Exception as error:  # torch raises anything for arguments that do not fit
            raise EpisodeError(f"{self.path.name} cannot be called: {last_line(error)}") from error

    def _evaluate(self, given: dict[str, Any], key: Any) -> Any:
        """Do every step with all checks, and note the way for the next time."""
        given = _copied(given)  # the code may write to its input
        inputs = list(_tensors(given))
        records = key not in self.routes and len(self.routes) < _MOST_ROUTES
        meter = Meter(self.frozen)
        meter.from_inputs.update(map(id, inputs))
        recorder = Recorder(inputs) if records else None
        evaluation = Evaluation(self.library, self.constants, meter, recorder)
        result = evaluation.method(self.module, "forward", self._arguments(given, evaluation))
        if recorder is not None:
            self.last = self.last or recorder.last_functions(result)
            repeats = not meter.steered and len(recorder.steps) <= LONGEST
            self.routes[key] = recorder.route(result) if repeats else None
        return result

    def _arguments(self, given: dict[str, Any], evaluation: Evaluation) -> list[Any]:
        """Return the arguments of `forward` in order, with defaults for those that are missing."""
        method = self.library.classes[self.module.kind].methods["forward"]
        names = [argument.arg for argument in method.args.args][1:]
        first = len(names) - len(method.args.defaults)
        if not set(names[:first]) <= given.keys() <= set(names):
            raise Fault(f"forward takes {', '.join(names)}")
        return [
            given[name] if name in given else evaluation.value(method.args.defaults[place - first])
            for place, name in enumerate(names)
        ]


def _shapes(value: Any) -> Any:
    """Return what there is to know of an input besides its numbers."""
    if type(value) is Tensor:
        return value.shape, value.dtype, value.stride()
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    return tuple(map(_shapes, value.items())) if isinstance(value, dict) else value


def _tensors(value: Any) -> Iterator[Tensor]:
    """Return the tensors of the input in order."""
    if type(value) is Tensor:
        yield value
    elif isinstance(value, dict | tuple | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _copied(value: Any) -> Any:
    if type(value) is Tensor:
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return tuple(map(_copied, value)) if isinstance(value, tuple | list) else value
