"""A torch module that lives in this process -> the file that it would be saved as."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import torch

from rpd_core.errors import FitError, RpdError, one_line
from rpd_torchscript.acting import acting

Save = Callable[[str, bytes], Path]
_jit_save: Any = torch.jit.save  # torch leaves it untyped


def saved_module(module: torch.nn.Module, save: Save) -> tuple[Path, bool]:
    """Save a module as it is now, on the CPU and in evaluation mode; return where, and its trust.

    TorchScript is saved as such. Any other module is pickled with its class where that lives in a
    script or a notebook, and trusted: whoever hands it over holds it in this very process. It may
    act by another method than `forward`.
    """
    buffer = io.BytesIO()
    script = isinstance(module, torch.jit.ScriptModule)
    try:
        with warnings.catch_warnings(action="ignore"):  # of copying, and of TorchScript's age
            still = copy.deepcopy(module).cpu().eval()
            if script:
                _jit_save(still, buffer)
            else:
                torch.save(acting(still), buffer, pickle_module=cloudpickle)
    except RpdError:
        raise
    except Exception as error:  # of a module that holds anything
        raise FitError(
            f"this {type(module).__name__} cannot be sent to worker processes "
            f"({one_line(error)[:200]}): hand over a function that calls it"
        ) from error
    return save("module.pt", buffer.getvalue()), not script
