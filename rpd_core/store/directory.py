"""The run directory: what lies where."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rpd_core.config.configuration import Configuration, Json, differences, in_short, short_digest
from rpd_core.config.settings import ASKED, Scope, Settings, check_stored, completed
from rpd_core.errors import ConfigError, EvidenceError, StoreError, nearest
from rpd_core.play.names import Names
from rpd_core.plugin.protocols.suite import SCHEMA_VERSION
from rpd_core.store.codec import from_plain, parse_object, to_bytes
from rpd_core.store.files import file_stem, locked, read_whole, write_whole
from rpd_core.store.parts import Parts

PROCESS = os.urandom(8).hex()
"""This Python process: the only one that knows the functions a live run is made of."""
T = TypeVar("T")

VARIANTS = "variants"  # folder of runs that vary one, below it
OBJECTS = "objects"  # folder of what was handed over as an object of Python
_OURS = re.compile(rf"\.lock|\.owner|pilot\.json|{OBJECTS}|\..+\.\d+\.tmp")
"""What an interrupted start may leave behind before there is a run.json."""
_SUITE_TABLES = ("states", "visits", "episodes")
_LARGEST_JSON = 2**28
_UNSAID = ("condition", "shares")  # settings that do not add to the name of an analysis
_QUESTION = "analyses/question.json"  # what was asked last


@dataclass(frozen=True)
class StoredSuite:
    """What fixes the episodes of a run: the content of `run.json`."""

    schema: int
    env: str
    policy: str
    max_steps: int
    settings: Settings
    """Those that decide the episodes and their number."""
    components: Mapping[str, Any]
    """Identity of the environment, policy, abstractions and default action."""
    live: bool = False
    """Whether a component is a function that only one Python process knows."""
    process: str = ""
    """That process."""


@dataclass(frozen=True)
class SweptPoint:
    """Which episodes stand behind a point of the sweep."""

    kept: int
    """Number of states that keep the policy."""
    ranking: int
    """Which ranking of the sets it is; another one's where both keep the same states."""
    episodes: int
    """How many of the test episodes were played, the first ones."""
    sets: tuple[str, ...]
    """Names among the `evaluations`, in the order of the test episodes."""


@dataclass(frozen=True)
class StoredAnalysis:
    """What was asked of the suite: the content of `analysis.json`."""

    settings: Settings
    """Those that decide what is asked."""
    episodes: int
    """Episodes of the suite that it stands on."""
    evaluations: Mapping[str, str] = field(default_factory=dict)
    """Folder in `pruning` of each set of pruned episodes it stands on, by what it is."""
    sweep: Mapping[str, tuple[SweptPoint, ...]] = field(default_factory=dict)
    """The points of each ranking, in ascending share of states."""


class RunDirectory:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: tuple[Path, ...] = ()
        """Folders above it that were not there before it was opened for writing."""

    # ------------------------------------------------------------- JSON files

    def read_json(self, name: str) -> Json | None:
        """Read one of the run's JSON files; None if it is not there."""
        content = read_whole(self.path / name, self.path, _LARGEST_JSON)
        return None if content is None else parse_object(content, repr(str(self.path / name)))

    def write_json(self, name: str, value: object) -> None:
        write_whole(self.path / name, to_bytes(value), self.path)

    # ---------------------------------------------------------- configuration

    def stored(self) -> StoredSuite:
        found = self.read_json("run.json")
        where = repr(str(self.path / "run.json"))
        if found is None:
            raise StoreError(f"{str(self.path)!r} is not a run directory: it has no run.json")
        if found.get("schema") != SCHEMA_VERSION:
            raise StoreError(
                f"{str(self.path)!r} was written with schema {found.get('schema')!r}, this rpd "
                f"has {SCHEMA_VERSION}: run it again into another --out"
            )
        suite = from_plain(StoredSuite, found, where)
        suite = dataclasses.replace(suite, settings=completed(suite.settings))
        _check_settings(suite.settings, where, "suite", "size")
        return suite

    def configuration(self, analysis: StoredAnalysis | None = None) -> Configuration:
        """Read the stored configuration, with one of its analyses if given."""
        stored = self.stored()
        asked = analysis.settings.given() if analysis else {}
        return Configuration(
            stored.env,
            stored.policy,
            stored.max_steps,
            dataclasses.replace(stored.settings, **asked),
            stored.components,
            stored.live,
        )

    def create(self, config: Configuration) -> None:
        """Write the configuration, unless the same is there; it may ask for more episodes."""
        self.check(config)
        asked = {"schema": SCHEMA_VERSION, **config.suite_json()}
        asked["process"] = PROCESS if config.live else ""
        if self.read_json("run.json") != asked:
            self.write_json("run.json", asked)

    def check(self, config: Configuration) -> None:
        """Refuse a directory that holds something else than a part of this run."""
        if self.read_json("run.json") is None:
            self.refuse_foreign()
            return
        stored = self.stored()
        if not self._holds_work():  # a first try that failed binds nobody
            return
        found = differences(self.configuration().identity(), config.identity())
        if found:
            raise StoreError(
                f"{str(self.path)!r} holds another configuration ({in_short(found)}): "
                "choose another --out or repeat the stored one"
            )
        if stored.live and stored.process != PROCESS:
            raise StoreError(
                f"{str(self.path)!r} was made from functions of a Python process that has ended: "
                "it can be read, but not continued; choose another out, or name your functions "
                "python:module:attribute"
            )

    def surplus(self, config: Configuration) -> str:
        """Return what to say where more episodes are stored than asked for; else nothing."""
        settings = config.settings
        if self.read_json("run.json") is None:
            return ""
        held = self.suite().count()
        if held <= settings.episodes:
            return ""
        return (
            f"{str(self.path)!r} holds {held} mutant episodes: the first {settings.episodes} are "
            "used, and all are kept"
        )

    def refuse_foreign(self) -> None:
        """Refuse a directory that has files but is not a run."""
        if (self.path / "run.json").is_file() or not self.path.is_dir():
            if self.path.exists() and not self.path.is_dir():
                raise StoreError(f"{str(self.path)!r} is not a directory: choose another folder")
            return
        strangers = [e.name for e in self.path.iterdir() if not _OURS.fullmatch(e.name)]
        if strangers:
            raise StoreError(
                f"{str(self.path)!r} holds {sorted(strangers)[0]!r} but no run.json: "
                "it is not a run directory; choose another folder"
            )

    def _holds_work(self) -> bool:
        """Return whether anything was played or fitted for the stored configuration."""
        played = (self.path / name for name in ("suite", "unmutated", "pruning", "prepared.json"))
        return any(path.exists() for path in played)

    def forget_if_empty(self) -> None:
        """Remove a run for which nothing was played or fitted."""
        if self._holds_work():
            return
        if not (self.path / "analyses").is_symlink():  # or a file elsewhere would be removed
            (self.path / _QUESTION).unlink(missing_ok=True)
        for name in ("run.json", "pilot.json", ".lock"):
            (self.path / name).unlink(missing_ok=True)
        objects = self.path / OBJECTS
        if objects.is_dir() and not objects.is_symlink():
            with suppress(OSError):  # somebody put a folder into it
                for file in objects.iterdir():
                    file.unlink()
                objects.rmdir()
        for folder in (self.path / "analyses", self.path, *self._made):
            with suppress(OSError):  # it is not empty, or not there
                folder.rmdir()

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.refuse_foreign()
        self._made = tuple(one for one in self.path.absolute().parents if not one.exists())
        with locked(self.path):
            yield

    # --------------------------------------------------------------- episodes

    def suite(self) -> Parts:
        """Return the mutant episodes; their digest covers what was learned before them."""
        return Parts(self.path / "suite", _SUITE_TABLES, self.suite_digest(), self.path)

    def unmutated(self) -> Parts:
        """Return episodes of the policy as it is, with the states that they visited."""
        digest = short_digest([self.suite_digest(), "unmutated"])
        return Parts(self.path / "unmutated", _SUITE_TABLES, digest, self.path)

    def suite_digest(self) -> str:
        """Return a short name for what fixes every mutant episode."""
        prepared = self.read_json("prepared.json") or {}
        return short_digest([self.configuration().identity(), prepared.get("digest", "")])

    def evaluation(self, name: str, visits: bool | None = None, trace: bool | None = None) -> Parts:
        """Return episodes of pruned policies; their name ends in a digest of what they are."""
        # `visits` tells whether it is stored, too, which states they visited and what was chosen
        # there, and `trace` whether every step is; None: as it is found.
        path = self.path / "pruning" / name
        wanted = {"episodes": True, "visits": visits, "states": visits, "trace": trace}
        tables = [
            table
            for table in (*_SUITE_TABLES, "trace")
            if (asked if (asked := wanted[table]) is not None else (path / table).is_dir())
        ]
        return Parts(path, tables, name.rpartition("-")[2], self.path)

    def names(self) -> Names:
        return self._read(Names, "names.json") or Names()

    def _read(self, kind: type[T], name: str) -> T | None:
        found = self.read_json(name)
        return None if found is None else from_plain(kind, found, repr(str(self.path / name)))

    # --------------------------------------------------------------- analyses

    def analyses(self) -> list[str]:
        folder = self.path / "analyses"
        if not folder.is_dir():
            return []
        return sorted(e.name for e in folder.iterdir() if (e / "summary.json").is_file())

    def latest(self) -> str | None:
        """Return the name of the analysis that was finished last; None if there is none."""
        found, names = self._finished_last(), self.analyses()
        return found if found in names else (names[-1] if names else None)

    def lost(self) -> str | None:
        """Return the name of the analysis that was finished last if its summary has gone."""
        found = self._finished_last()
        return None if found in self.analyses() else found

    def _finished_last(self) -> str | None:
        found = (self.read_json("analyses/latest.json") or {}).get("analysis")
        return None if found is None else str(found)

    def keep_question(self, config: Configuration) -> None:
        """Store what is asked now, so that it can be gone on with if it is broken off."""
        asked = {"settings": config.analysis_json()}
        if self.read_json(_QUESTION) != asked:
            self.write_json(_QUESTION, asked)

    @contextmanager
    def asking(self, config: Configuration) -> Iterator[None]:
        """Keep a question while it is worked on; one that is refused leaves the one before it."""
        before = self.read_json(_QUESTION)
        self.keep_question(config)
        try:
            yield
        except EvidenceError:
            if before is None:
                (self.path / _QUESTION).unlink()
            else:
                self.write_json(_QUESTION, before)
            raise

    def question(self) -> Settings | None:
        """Return what was asked last, finished or not; None if nothing was."""
        asked = self.read_json(_QUESTION)
        where = repr(str(self.path / _QUESTION))
        return None if asked is None else from_plain(Settings, asked.get("settings"), where)

    def choose_analysis(self, name: str | None) -> str | None:
        """Return the name of an analysis: the one asked for, or the latest."""
        if name is None:
            return self.latest()
        names = self.analyses()
        if name not in names:
            known = f" There are: {', '.join(names)}." if names else " There is none yet."
            raise ConfigError(
                f"{str(self.path)!r} has no analysis {name!r}.{nearest(name, names) or known}"
            )
        return name

    def analysis(self, name: str) -> StoredAnalysis:
        where = f"analyses/{name}/analysis.json"
        found = self._read(StoredAnalysis, where)
        if found is None:
            raise StoreError(f"{str(self.path / where)!r} is missing: run rpd prune again")
        _check_settings(found.settings, repr(str(self.path / where)), *ASKED)
        return found

    def name_for(self, config: Configuration, recommended: Mapping[str, object]) -> str:
        """Return a readable name for an analysis: its condition, and what else is not usual."""
        asked = config.analysis_json()
        words = [file_stem(asked["condition"])]
        for key, value in asked.items():
            if key not in _UNSAID and value != recommended.get(key):
                words.append(file_stem(f"{key}-{_in_words(value, recommended.get(key))}"))
        name, episodes = "_".join(words)[:100], config.settings.episodes
        longer = f"{name}_episodes-{episodes}"  # the same question to a suite that has grown
        for candidate in (name, longer):
            if self._is_free(candidate, asked, episodes):
                return candidate
        return f"{name}_{short_digest([asked, episodes])}"

    def refuse_taken(self, name: str, config: Configuration) -> None:
        """Refuse a name that an analysis with another question has."""
        if not self._is_free(name, config.analysis_json(), config.settings.episodes):
            raise ConfigError(
                f"{str(self.path)!r} has an analysis {name!r} that asks something else: choose "
                "another --analysis"
            )

    def _is_free(self, name: str, asked: Mapping[str, object], episodes: int) -> bool:
        """Return whether no analysis has a name, or one that asks the same of as many episodes."""
        held = self.read_json(f"analyses/{name}/analysis.json")
        if held is None:
            return True
        return held.get("settings") == asked and episodes == held.get("episodes")


def _in_words(value: object, usual: Any) -> str:
    if isinstance(value, list):
        return "+".join(str(item) for item in value if item not in (usual or ()))
    if isinstance(value, float):
        return f"{value:g}".replace("e+", "e")  # file names have no plus: it would become a minus
    return str(value)


def check_configuration(found: Mapping[str, object], where: str) -> None:
    """Refuse the configuration in a summary if it is none of ours: screens and pages read it."""
    suite = found.get("suite")
    whole = {"schema": SCHEMA_VERSION, **suite} if isinstance(suite, Mapping) else suite
    settings = from_plain(StoredSuite, whole, where).settings
    _check_settings(completed(settings), where, "suite", "size")
    _check_settings(from_plain(Settings, found.get("analysis"), where), where, *ASKED)


def _check_settings(settings: Settings, where: str, *scopes: Scope) -> None:
    try:
        check_stored(settings, *scopes)
    except ConfigError as error:
        raise StoreError(f"{where}: {error}; restore the file or delete it") from None
