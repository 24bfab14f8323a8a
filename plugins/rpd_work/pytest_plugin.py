"""A plugin of pytest: `rpd_policy` fails where a new policy needs what the old one did not.

It imports nothing of rpd until a test asks for the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rpd_compare.records import Comparison

Check = Callable[..., "Comparison"]


@pytest.fixture
def rpd_policy(tmp_path: Path) -> Check:
    """Return a check of a new policy against the stored run of an old one.

    `rpd_policy("sb3:new.zip", like="runs/old")` plays a run of the new policy on the old run's
    task, states, default action and condition, and fails unless

    - its smallest policy needs no decision that the old one's did not; `new_decisions=` allows
      some, and `worth=` looks only at those that surely lose more than this share of its return;
    - where both need a decision, both most often take the same action, unless `same_rules=False`;
    - its mean return is at least `at_least=`, where that is given.

    Further keywords are those of `rpd.run`; the run is stored in `out=`, or else in `tmp_path`.
    What `rpd.compare` found is returned.
    """

    def check(
        policy: Any,
        like: str | os.PathLike[str],
        *,
        new_decisions: int = 0,
        worth: float = 0.0,
        same_rules: bool = True,
        at_least: float | None = None,
        **settings: Any,
    ) -> Comparison:
        from rpd_work.regression import compared, faults_of  # imports all of rpd

        __tracebackhide__ = True
        asked = {"out": tmp_path / "rpd-run", **settings}
        found = compared(policy, like, asked)
        faults = faults_of(found, new_decisions, worth, same_rules, at_least)
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)
        return found

    return check
