"""What is imported when: names are checked first, recipes are light, models come last."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.registry import installed

HEAVY = ("torch", "stable_baselines3", "sb3_contrib", "minigrid", "ale_py", "pandas")


def modules() -> list[str]:
    """Return the modules of all bundled components."""
    bundled = [one for one in installed().registrations if one.distribution == BUNDLED]
    return sorted({one.component.target.partition(":")[0] for one in bundled if one.ready})


IMPORTS = """
import importlib, json, os, sys
import gymnasium, numpy  # allowed, and slow enough to import them only once

class Watch:
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in json.loads(sys.argv[2]):
            self.asked.append(name.partition(".")[0])
            raise ModuleNotFoundError(name)  # quicker than importing it

from rpd_core.plugin.registry import installed
installed()  # it looks for what components need, and imports none of that
sys.meta_path.insert(0, Watch())
import rpd_basics.pruned  # most of the core, which is light, once for all
assert not Watch.asked
found = {}
for module in json.loads(sys.argv[1]):
    here, there = os.pipe()
    if not os.fork():
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            assert Watch.asked
        finally:
            os.write(there, json.dumps(Watch.asked).encode())
            os._exit(0)
    os.close(there)
    found[module] = json.loads(os.read(here, 10_000))
    os.close(here)
    os.wait()
print(json.dumps(found))
"""


def fresh(script: str, *arguments: object) -> str:
    """Run a script in a fresh interpreter and return what it prints."""
    told = [json.dumps(argument) for argument in arguments]
    done = subprocess.run([sys.executable, "-c", script, *told], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str]]:
    """Return the heavy packages that each target module brings along on its own."""
    found: dict[str, list[str]] = json.loads(fresh(IMPORTS, modules(), HEAVY))
    return found


@pytest.mark.parametrize("module", modules())
def test_the_module_of_a_bundled_component_imports_nothing_heavy(
    module: str, imported: dict[str, list[str]]
) -> None:
    """A spec is read with its class at hand, so a class must be quick to import."""
    assert imported[module] == []


UNKNOWN = """
import json, sys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import RpdError
from rpd_core.plugin.registry import installed

before = set(sys.modules)
try:
    resolve(Request(**json.loads(sys.argv[1])), installed())
except RpdError as error:
    targets = {one.component.target.partition(":")[0] for one in installed().registrations}
    loaded = targets & (set(sys.modules) - before)
    print(json.dumps([str(error), sorted(loaded)]))
"""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"measures": ["ochiai", "tarantola"]}, "no measure is called 'tarantola'. Did you mean"),
        ({"policy": "sb4:a.zip"}, "no policy is called 'sb4'. Did you mean 'sb3'?"),
        ({"abstraction": ["round:1", "rond"]}, "no abstraction is called 'rond'. Did you mean"),
        ({"default_action": "repaet"}, "no default-action is called 'repaet'. Did you mean"),
        ({"condition": "retrun>=3"}, "no condition is called 'retrun'. Did you mean 'return'?"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_unknown_name_is_refused_before_anything_is_imported(
    wrong: dict[str, object], message: str
) -> None:
    told, loaded = json.loads(fresh(UNKNOWN, {"env": "cartpole", **wrong}))
    assert told.startswith(message)
    assert loaded == []
