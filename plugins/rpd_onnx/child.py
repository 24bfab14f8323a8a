"""The process in which a model is tried: `python -m rpd_onnx.child FILE SECONDS BYTES`."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rpd_core.errors import RpdError
from rpd_onnx.model import read_model
from rpd_onnx.session import Session, said


def main() -> None:
    """Load the model and call it on zeros of the shapes that stdin tells; print what is wrong."""
    feeds: dict[str, Any] = json.loads(sys.stdin.read())
    path, seconds, memory = sys.argv[1:]
    _limit(int(seconds), int(memory))
    try:
        model = read_model(Path(path))
        zeros = {name: np.zeros(shape, kind) for name, (kind, shape) in feeds.items()}
        Session(model)(zeros, [output.name for output in model.outputs])
        error = ""
    except RpdError as failure:
        error = str(failure)
    except MemoryError:
        raise
    except Exception as failure:  # onnxruntime raises classes of its own, by what is wrong
        error = said(failure)
    print(json.dumps({"error": error}))


def _limit(seconds: int, memory: int) -> None:
    """Let the system end this process if it works for too long, and give it no more memory."""
    spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    wanted = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: int(spent) + seconds,
        resource.RLIMIT_CORE: 0,
    }
    for which, limit in wanted.items():
        _, most = resource.getrlimit(which)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(which, (limit, limit))


if __name__ == "__main__":
    main()
