"""Files of cells: what they mean, and what is refused in one line that names the key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import Registry
from rpd_studies.plan import Plan, plan_of, read_plan

WHOLE = """
seeds = [3, 5]
finish = "sweep"
show = ["return", "states90.portfolio"]

[all]
env = "cartpole"
test-episodes = 20

[cross]
default-action = ["repeat", "random"]
mutation_rate = [0.2, 0.4]
abstraction = ["cartpole", ["round:1", "select:0+2"]]

[[cell]]
env = "minigrid"
measure = ["jaccard", "phi"]
"""


def plan(tmp_path: Path, registry: Registry, text: str) -> Plan:
    """Read a file with this content."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_plan(path, registry)


def test_lists_are_crossed_and_single_cells_stand_beside_them(
    tmp_path: Path, registry: Registry
) -> None:
    found = plan(tmp_path, registry, WHOLE)
    assert (found.name, found.seeds, found.finish) == ("mine", (3, 5), "sweep")
    assert found.show == ("return", "states90.portfolio")
    assert len(found.cells) == 2 * 2 * 2 + 1
    assert found.cells[0].settings == {
        "env": "cartpole", "test_episodes": 20, "default_action": "repeat", "mutation_rate": 0.2,
        "abstraction": ("cartpole",),
    }  # fmt: skip
    assert found.cells[1].settings["abstraction"] == ("round:1", "select:0+2")
    assert found.cells[-1].settings == {
        "env": "minigrid", "test_episodes": 20, "measures": ("jaccard", "phi"),
    }  # fmt: skip
    assert found.cells[1].label == (
        "default_action=repeat, mutation_rate=0.2, abstraction=round:1 + select:0+2"
    )


def test_several_crosses_keep_policies_with_their_environments(
    tmp_path: Path, registry: Registry
) -> None:
    text = """
    [[cross]]
    env = "cartpole"
    policy = ["cartpole:good", "cartpole:weak"]
    [[cross]]
    env = "minigrid"
    default_action = ["repeat", "random"]
    """
    cells = plan(tmp_path, registry, text).cells
    assert [cell.settings.get("policy") for cell in cells[:2]] == ["cartpole:good", "cartpole:weak"]
    assert [cell.settings["env"] for cell in cells] == ["cartpole"] * 2 + ["minigrid"] * 2


def test_one_setting_for_all_is_a_grid_of_one_cell_over_seeds(registry: Registry) -> None:
    found = plan_of({"all": {"env": "cartpole"}}, registry)
    assert (len(found.cells), found.seeds) == (1, (0, 1, 2, 3, 4))


MISTAKES = {
    "": "'mine.toml' has no cell: add [cross] or [[cell]]",
    "[cross": "'mine.toml' is not TOML",
    "colour = 1\n[all]\nenv='cartpole'": "'colour' is not a part of a grid",
    "episodes = 5\n[all]\nenv='cartpole'": "'episodes' is not a part of a grid. Settings stand in",
    "[all]\nenv='cartpole'\nepisode=5": "[all] episode: this is not a setting of a cell; Did you "
    "mean 'episodes'?",
    "[all]\nenv='cartpole'\nseed=5": "[all] seed: this is not a setting of a cell; seeds stand at",
    "[all]\nenv='cartpole'\ntest_episodes=5\ntest-episodes=6": "[all] test-episodes: it is there "
    "twice, spelt differently",
    "[all]\nenv='cartpole'\nmutation_rate=[0.1, 0.2]": "[all] mutation_rate takes one value, got "
    "2: lists are crossed in [cross]",
    "[[cell]]\nenv=['cartpole', 'minigrid']": "[[cell]] env takes one value, got 2",
    "[cross]\nenv='cartpole'\nmutation_rate=[]": "[cross] mutation_rate is an empty list",
    "[cross]\nenv=['cartpole', 'cartpole']": "[cross] env has cartpole twice",
    "cross = 3": "[cross] must be a table of settings, got 3",
    "[all.env]\nname='cartpole'": "[all] env must be text or a number, got {'name'",
    "[cross]\nmutation_rate=[0.1]": "cell 1 (mutation_rate=0.1) has no env",
    "[[cell]]\nenv='cartpole'\n[[cell]]\nenv='cartpole'": "cell 2 (env=cartpole) is the same as "
    "cell 1",
    "[cross]\nenv='cartpole'\nmutation_rate=[0.2, 40]": "cell 2 (env=cartpole, mutation_rate=40): "
    "mutation_rate must lie in (0, 1), got 40",
    "[all]\nenv='cartpool'": "no environment is called 'cartpool'. Did you mean 'cartpole'?",
    "[all]\nenv='cartpole'\ncondition=200": "condition must be text, got 200",
    "[all]\nenv='cartpole'\ncondition='return>='": "bound must be a number, got ''",
    "[all]\nenv='cartpole'\npolicy='cartpole:strong'": "which must be one of good, weak",
    "[all]\nenv='cartpole'\npolicy='sb3:nowhere.zip,determinist=true'": "'determinist=true' is "
    "not a parameter of 'sb3'",
    "[all]\nenv='cartpole'\npolicy='sb3:a.zip,trust=true'": "[all] policy has trust=, which "
    "belongs on the command line",
    "seeds=[]\n[all]\nenv='cartpole'": "seeds must be whole numbers, as [0, 1, 2], got []",
    "seeds=[1, 1]\n[all]\nenv='cartpole'": "seeds must be different, got [1, 1]",
    "seeds=[-1]\n[all]\nenv='cartpole'": "seeds must lie in 0..2**63 - 1, got [-1]",
    "finish='soon'\n[all]\nenv='cartpole'": "finish must be answer or sweep, got 'soon'",
    "show='return'\n[all]\nenv='cartpole'": "show must be a list of figures, got 'return'",
    "show=['retrun']\n[all]\nenv='cartpole'": "show has 'retrun', which is not a figure. Did you "
    "mean 'return'?",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_in_one_line(text: str, tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(ConfigError) as told:
        plan(tmp_path, registry, text)
    line = str(told.value).replace(f"{tmp_path}/", "")
    assert "\n" not in line
    assert MISTAKES[text] in line
    assert "mine.toml" in line


def test_a_slip_of_the_keyboard_makes_no_million_cells(registry: Registry) -> None:
    rates = [place / 1000 for place in range(1, 500)]
    crossed = {"env": "cartpole", "mutation_rate": rates, "margin": rates}
    with pytest.raises(ConfigError, match="makes 249001 cells: at most 100000"):
        plan_of({"cross": crossed}, registry)
    with pytest.raises(ConfigError, match=r"499 cells with 400 seeds: at most 100000 runs"):
        plan_of(
            {"seeds": [*range(400)], "cross": {"env": "cartpole", "mutation_rate": rates}}, registry
        )


def test_a_plan_is_read_before_anything_is_imported_that_takes_long() -> None:
    code = "import sys, rpd_studies.plan; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
