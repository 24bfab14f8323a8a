"""`rpd run`: everything, from episodes to the answer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import shared
from rpd_core.errors import ConfigError, StoreError, one_line

if TYPE_CHECKING:
    from rpd_core.config.configuration import Request
    from rpd_core.execute.workshop import Progress, Workshop
    from rpd_core.report.cost import Cost


@shared.reporting
def run_command(
    env: shared.Env = None,
    policy: shared.Policy = None,
    abstraction: shared.Abstraction = None,
    default_action: shared.DefaultAction = None,
    condition: shared.Condition = None,
    measure: shared.Measure = None,
    mutation_rate: shared.MutationRate = None,
    episodes: shared.EpisodeCount = None,
    test_episodes: shared.TestEpisodes = None,
    seed: shared.Seed = None,
    unvisited: shared.Unvisited = None,
    reference: shared.Reference = None,
    workers: shared.Workers = None,
    executor: shared.ExecutorName = "local",
    trust_policy: shared.TrustPolicy = False,
    out: shared.Out = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Repeat the run of this run.json.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the configuration and an estimate, then stop.")
    ] = False,
    as_json: shared.Json = False,
) -> None:
    """Rank a policy's decisions and prove the ranking by pruning the policy."""
    from rpd_core.api import execute
    from rpd_core.cli.render import print_answer
    from rpd_core.report.cost import estimate

    asked = {
        "env": env,
        "policy": policy,
        "abstraction": tuple(abstraction or ()),
        "default_action": default_action,
        "condition": condition,
        "measures": tuple(measure or ()),
        "mutation_rate": mutation_rate,
        "episodes": episodes,
        "test_episodes": test_episodes,
        "seed": seed,
        "unvisited": unvisited,
        "reference": reference,
        "trust_policy": trust_policy or None,
    }
    with shared.progress_bars(hidden=dry_run) as progress:
        shop = workshop(request_from(asked, config), out, workers, executor, progress)
        if dry_run:
            shop.directory.check(shop.setup.config)
            cost = estimate(shop)
        else:
            with shared.resumable(shop.directory.path):
                finished = execute(shop)
    if dry_run:
        show_estimate(shop, cost, as_json)
    elif as_json:
        shared.print_json(finished.summary)
    else:
        print_answer(shared.answers(), finished.summary, finished.path)


def request_from(asked: dict[str, Any], config: Path | None) -> Request:
    """Join what was typed with the stored configuration it is based on, if any."""
    from rpd_core.api import request_of
    from rpd_core.config.configuration import Request, RunConfig

    given = {name: value for name, value in asked.items() if value not in (None, ())}
    if config is not None:
        try:
            stored = request_of(RunConfig.from_json(_read(config)))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"the configuration in {str(config)!r} cannot be used ({one_line(error)})"
            ) from error
        return dataclasses.replace(stored, **given)
    if "env" not in given:
        raise ConfigError("no environment given: try rpd run --env cartpole")
    return Request(**given)


def _read(path: Path) -> Any:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return plain["config"]
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{str(path)!r} is not the run.json of a run ({error})") from error


def workshop(
    request: Request, out: Path | None, workers: int | None, executor: str, progress: Progress
) -> Workshop:
    """Put together what a run needs."""
    from rpd_core.api import default_directory
    from rpd_core.config.configuration import resolve
    from rpd_core.execute.workshop import Workshop
    from rpd_core.plugin.registry import installed
    from rpd_core.store.directory import RunDirectory

    registry = installed()
    count = shared.check_workers(workers)
    runner = registry.make("executor", executor)
    setup = resolve(request, registry)
    shared.show_notes(setup.task)
    directory = RunDirectory(out or default_directory(setup))
    return Workshop(setup, directory, registry, runner, count, progress)


def show_estimate(shop: Workshop, cost: Cost, as_json: bool) -> None:
    """Print the resolved configuration and what the run would cost."""
    from rpd_core.cli.render import print_estimate

    plain = {"config": shop.setup.config.as_json(), "out": str(shop.directory.path)}
    if as_json:
        shared.print_json({**plain, "estimate": dataclasses.asdict(cost)})
    else:
        print_estimate(shared.answers(), plain, cost)
