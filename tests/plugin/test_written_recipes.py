"""A recipe made in Python is stored as the spec string that would have made it."""

from __future__ import annotations

import pytest

from rpd_core.config.resolve import choose
from rpd_core.plugin.registry import Registry

SPECS = [
    ("environment", "gym:CartPole-v1,max_steps=40,kwargs=a=1+b=x"),
    ("environment", "cartpole"),
    ("policy", "cartpole:weak"),
    ("policy", "sb3:/a/b,c.zip,deterministic=false,stack=4"),
    ("abstraction", "round:digits=2"),
    ("abstraction", "select:0+2"),
    ("default-action", "constant:1"),
    ("default-action", "policy:cartpole:weak"),
    ("measure", "tarantula:mutation"),
    ("measure", "impact:shrunken"),
]


@pytest.mark.parametrize(("kind", "text"), SPECS)
def test_the_text_of_a_recipe_makes_it_again(registry: Registry, kind: str, text: str) -> None:
    text = text.replace("/a/b,c.zip", '"/a/b,c.zip"')
    recipe = registry.make(kind, text)
    written = choose(registry, kind, recipe).text
    assert registry.make(kind, written) == recipe


def test_what_is_left_at_its_default_is_not_written(registry: Registry) -> None:
    recipe = registry.make("abstraction", "round:digits=1")
    assert choose(registry, "abstraction", recipe).text == "round"
    recipe = registry.make("policy", "sb3:/a.zip,trust=true")
    assert choose(registry, "policy", recipe).text == "sb3:/a.zip", "nor what is permitted"
