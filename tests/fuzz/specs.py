"""Spec strings as a careless or a hostile hand may type them, read with everything installed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from rpd_core.plugin.registry import installed

SEEDS = {
    "environment": ["cartpole", "minigrid:SimpleCrossingS9N1", "gym:Acrobot-v1,max_steps=9"],
    "policy": ["random", "sb3:a.zip,deterministic=false", "torchscript:./lr=3e-4/a.pt"],
    "abstraction": ["round:digits=1", "select:0+2", "clusters:k=8", "view:screen"],
    "default-action": ["repeat:first=1", "constant:0", "policy:sb3:'a,b.zip',deterministic=true"],
    "measure": ["tarantula:reading=mutation", "ochiai", "wong2:mutation"],
    "condition": ["return>=200", "info:is_success", "auto", "length < 1e3"],
    "executor": ["local"],
}
"""Specs from which others are made, by kind."""
PIECES = [
    *[":", ",", "=", "+", "-", "'", '"', "\\", ".", " ", "\n", "\0", "%s", "{}", "~", "~x/"],
    *["nan", "inf", "-1", "1e999", "9" * 5000, "none", "true", "python:", "policy:", "../", "é"],
    *[">=", "<", "=>", "__class__", "digits", "path", "trust=true", "\ud7ff", "\U0001f40d"],
]
"""What is put in, or in the place of something."""


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield kind and spec, one line each, without end."""
    chance = random.Random(seed)
    number = 0
    for kind, texts in SEEDS.items():
        for text in texts:
            yield f"{number}", f"{kind}\n{text}".encode()
            number += 1
    while True:
        kind = chance.choice(list(SEEDS))
        text = chance.choice(SEEDS[chance.choice([kind, kind, *SEEDS])])
        for _ in range(chance.randint(1, 6)):
            text = _change(text, chance)
        yield f"{number}", f"{kind}\n{text}".encode()
        number += 1


def _change(text: str, chance: random.Random) -> str:
    borders = [0, len(text), *(at + 1 for at, sign in enumerate(text) if sign in ":,=+'")]
    start = chance.choice([chance.randint(0, len(text)), chance.choice(borders)])
    end = min(len(text), start + chance.choice([0, 0, 1, 2, 5]))
    middle = chance.choice(["", text[start:end] * 2, *PIECES])
    if chance.random() < 0.02:
        middle = chance.choice(["policy:", "(", "[", "a,"]) * 3000
    return text[:start] + middle + text[end:]


def attempt(path: Path) -> None:
    """Make the component that a spec selects; nothing is opened or played."""
    kind, _, text = path.read_text(encoding="utf-8").partition("\n")
    installed().make(kind, text)


def warm() -> None:
    """Import what the components are made of."""
    for kind, texts in SEEDS.items():
        for text in texts:
            installed().parse(kind, text)
