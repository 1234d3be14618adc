"""pytest collects suites and cases: one item a case.

    pytest suites/nightly.toml -n 8
    pytest cases/ -k refund

Nothing of evalkit is loaded before such a file or folder is named; a bare ``pytest`` collects none of them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import sys
import tempfile
import tomllib
import uuid
from collections.abc import Generator, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evalkit.app.case_runs import CaseRun, CaseRunner
    from evalkit.app.settings import Settings
    from evalkit.suite.case_ref import CaseRef
    from evalkit.suite.model import Suite

__all__ = ["CaseFile", "CaseItem", "SuiteFile"]

_CASE_FILE = re.compile(r"v(\d{4,})\.parquet")
_TELLING_KEYS = frozenset(
    "target samples mode select policy policies model budget faults on_miss strict sandbox baseline sequential".split()
)
"""Keys of a suite, one of which it has; other programs' TOML files have none of them at the top."""
_OTHER_KEYS = frozenset(
    "name screening pass_k keep_traces timeout_s timeouts retries concurrency seed unsafe_replay history affected"
    " what_if baseline_rules prices".split()
)
"""The others."""
_WORKER_KEY = "evalkit_session"
_NAMED = pytest.StashKey[tuple[Path, ...]]()
_SESSION = pytest.StashKey[str]()
_SETTINGS = pytest.StashKey[dict[Path, "Settings"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("evalkit", "evalkit: suites and cases as tests")
    group.addoption("--evalkit-samples", type=int, metavar="N", help="replays a case, instead of the suite's")
    target = "what to run, instead of the suite's or the cases' own"
    group.addoption("--evalkit-target", type=_not_empty, metavar="TARGET", help=target)
    group.addoption(
        "--evalkit-in-process", action="store_true", help="replay in pytest's process, which an agent may end"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects a suite or a case, where it or its folder was named."""
    if file_path.suffix == ".toml":
        return SuiteFile.from_parent(parent, path=file_path) if _is_suite(file_path, parent.config) else None
    if file_path.suffix == ".parquet" and _CASE_FILE.fullmatch(file_path.name):
        return CaseFile.from_parent(parent, path=file_path) if _is_case(file_path, parent.config) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Generator[None, bool | None, bool | None]:
    """Keeps a case from being left out because its id is `build`, or another name that ``norecursedirs`` has."""
    ignored = yield
    return False if ignored and _is_left_out_by_name(collection_path, config) else ignored


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist which session it belongs to."""
    node.workerinput[_WORKER_KEY] = _session(node.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the session's account."""
    if not hasattr(config, "workerinput") and _SESSION in config.stash:
        shutil.rmtree(_scratch(config), ignore_errors=True)


class _Cases(pytest.File):
    """A file whose items have a runner in common."""

    runner: _Runner | None = None

    def teardown(self) -> None:
        """Ends the workers after the file's last item."""
        if self.runner is not None:
            self.runner.close()


class SuiteFile(_Cases):
    """A suite: an item for each case that it selects."""

    def collect(self) -> Iterator[pytest.Item]:
        """The items, by the cases' ids."""
        from evalkit.app.message import error_text
        from evalkit.app.run_plan import read_suite
        from evalkit.errors import EvalkitError
        from evalkit.suite.select import select_cases

        try:
            settings = _settings(self.config, self.path)
            suite = read_suite(self.path, settings, _overrides(self.config))
            cases = select_cases(settings.cases, suite.select)
            yield from _items(self, suite, cases, settings)
        except EvalkitError as error:
            raise self.CollectError(error_text(error)) from None


class CaseFile(_Cases):
    """A case's file: one item, that replays the case on its own target."""

    def collect(self) -> Iterator[pytest.Item]:
        """The item, unless the case is retired."""
        from evalkit.app.case_runs import suite_of_cases
        from evalkit.app.message import error_text
        from evalkit.errors import EvalkitError
        from evalkit.suite.case_ref import reference, root_of

        try:
            case = reference(self.path)
            root_of(case)
            if case.state != "retired":
                settings = _settings(self.config, self.path)
                yield from _items(self, suite_of_cases(settings, _overrides(self.config)), [case], settings)
        except EvalkitError as error:
            raise self.CollectError(error_text(error)) from None


class CaseItem(pytest.Item):
    """One case. Replaying is its setup: what can't be measured is an error, an agent that is wrong a failure."""

    def __init__(self, *, case: CaseRef, suite: Suite, runner: _Runner, **rest: Any) -> None:
        super().__init__(**rest)
        self._case = case
        self._suite = suite
        self._runner = runner
        self._run: CaseRun | None = None
        self._told: tuple[tuple[str, str], ...] = ()

    def _initrequest(self) -> None:
        """What plug-ins that try tests again call in between, to forget fixtures: a case has none."""

    def setup(self) -> None:
        """Replays the case; an error where the samples allow no verdict, or there are none.

        A plug-in that tries failures again gets what there is: a case that is measured until it passes always passes.
        Only what infrastructure spoiled is measured anew.
        """
        from evalkit.app.case_runs import properties

        if self.config.getoption("setuponly", False):  # of --setup-plan, too: nothing is to be tried
            return
        if self._run is None or self._run.verdict.errored:
            others = [one for one in self.user_properties if one not in self._told]
            self._run = self._measured()
            self._told = tuple(properties(self._run))
            self.user_properties[:] = [*others, *self._told]
        if self._run.verdict.effect == "unmeasured":
            pytest.fail(self._message(), pytrace=False)

    def _measured(self) -> CaseRun:
        from evalkit.app.message import error_text
        from evalkit.app.warned import warnings_passed_on
        from evalkit.errors import EvalkitError

        try:
            with warnings_passed_on(self._runner.warnings):
                return self._runner.get(self._case).run(self._case)
        except EvalkitError as error:
            raised = error_text(error)
        pytest.fail(f"not measured: {raised}", pytrace=False)

    def runtest(self) -> None:
        """Gives the verdict; a failure where it would block a release, were the case permanent."""
        assert self._run is not None
        if self._run.verdict.effect == "blocks":
            pytest.fail(self._message(), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is from."""
        return self.path, None, self.name

    def _message(self) -> str:
        from evalkit.app.case_runs import message_lines

        assert self._run is not None
        return "\n".join(message_lines(self._run, self._case, self._suite))


class _Runner:
    """A suite's runner, made when its first case is run: collecting loads no target."""

    def __init__(
        self, suite: Suite, cases: Sequence[CaseRef], settings: Settings, account: Path, config: pytest.Config
    ) -> None:
        self._given = suite, cases, settings, account
        self._config = config
        self.warnings = account.with_suffix(f".{os.getpid()}.warnings")
        self._made: CaseRunner | None = None
        self._modules = 0

    def get(self, case: CaseRef) -> CaseRunner:
        """The runner, for a case that it is asked for next.

        Raises:
            ConfigError: the suite can't be run in here, or its agent's modules are others' in this process.
        """
        from evalkit.app.case_runs import CaseRunner
        from evalkit.app.own_modules import put_first
        from evalkit.playback.targets.reference import is_outside

        suite, _, settings, _ = self._given
        if not is_outside(suite.target or case.target):
            self._modules = put_first(settings.root.resolve(), known=self._modules)  # wherever pytest was started
        if self._made is None:
            self._made = CaseRunner(*self._given, inside=_stays_inside(self._config))
        return self._made

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def _stays_inside(config: pytest.Config) -> bool:
    """Whether agents run in this process: as asked for, or for a debugger or coverage, which see nothing of forks.

    A worker of pytest-xdist has threads that a fork would lack, and pytest-xdist has another one where it ends.
    """
    options = ("evalkit_in_process", "usepdb", "trace")
    tools = getattr(sys, "monitoring", None)  # Python 3.12
    watched = tools is not None and any(tools.get_tool(number) for number in (tools.DEBUGGER_ID, tools.COVERAGE_ID))
    asked = any(config.getoption(name, default=False) for name in options)
    return asked or watched or sys.gettrace() is not None or hasattr(config, "workerinput")


def _items(parent: _Cases, suite: Suite, cases: Sequence[CaseRef], settings: Settings) -> Iterator[pytest.Item]:
    name = hashlib.sha256(os.fsencode(parent.path)).hexdigest()[:16]
    parent.runner = runner = _Runner(suite, cases, settings, _scratch(parent.config) / f"{name}.json", parent.config)
    for case in cases:
        yield CaseItem.from_parent(parent, name=case.id, case=case, suite=suite, runner=runner)


def _is_suite(path: Path, config: pytest.Config) -> bool:
    """Whether a file is a suite that was named: itself, or by the folder of suites or one in it.

    In there every TOML file is one; what stands in other places has to look like one.
    """
    named, file, here = _named(config), path.resolve(), config.invocation_params.dir.resolve()
    alone = file in named
    above = [folder for folder in file.parents if folder in named and (folder != here or file.parent == here)]
    if not alone and not above:
        return False
    keys = _keys(path)
    telling, far_below = bool(keys & _TELLING_KEYS), not alone and file.parent not in named
    from evalkit.project import project_root

    beside = not alone and file.parent == here and project_root(here) in (None, here)
    if not telling and (beside or (far_below and keys - _OTHER_KEYS)):
        return False  # a file of another program: nothing more of evalkit is loaded for it
    from evalkit.errors import ConfigError

    try:
        settings = _settings(config, path)
    except ConfigError:  # collecting it says so
        return True
    suites = settings.suites.resolve()
    inside = file.parent == suites or (suites in file.parents and suites != settings.root.resolve())
    return (inside and (alone or any(one.is_relative_to(suites) for one in above))) or (alone and telling)


def _not_empty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: say what, or leave the option out")
    return text


def _keys(path: Path) -> set[str]:
    """The keys of a TOML file; none where it can't be read."""
    try:
        return set(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return set()


def _is_case(path: Path, config: pytest.Config) -> bool:
    """Whether a file is a case that was named: itself, or by its folder or the cases' one, and then the newest."""
    named = _named(config)
    if path.resolve() not in named:
        if not {path.parent.resolve(), path.parent.parent.resolve()} & set(named):
            return False
        versions = [int(found[1]) for name in os.listdir(path.parent) if (found := _CASE_FILE.fullmatch(name))]
        if int(path.stem[1:]) != max(versions):
            return False
    from evalkit.app.case_runs import is_case_file
    from evalkit.errors import ConfigError

    try:
        return is_case_file(path, _settings(config, path).cases)
    except ConfigError:  # collecting it says so
        return True


def _is_left_out_by_name(folder: Path, config: pytest.Config) -> bool:
    """Whether a folder is a case's in a named one, and only its name keeps it from being looked into."""
    if folder.parent.resolve() not in _named(config) or not folder.is_dir():
        return False
    asked = any(os.path.abspath(one) == str(folder) for one in config.getoption("ignore") or ())
    asked = asked or any(fnmatch(str(folder), os.path.abspath(one)) for one in config.getoption("ignore_glob") or ())
    by_name = any(fnmatch(folder.name, pattern) for pattern in config.getini("norecursedirs"))
    return by_name and not asked and any(map(_CASE_FILE.fullmatch, os.listdir(folder)))


def _named(config: pytest.Config) -> tuple[Path, ...]:
    """The files and folders that were named, in the command or by ``testpaths``."""
    if _NAMED not in config.stash:
        base = config.invocation_params.dir
        config.stash[_NAMED] = tuple((base / argument.partition("::")[0]).resolve() for argument in config.args)
    return config.stash[_NAMED]


def _settings(config: pytest.Config, path: Path) -> Settings:
    """The settings of the project that a file belongs to, wherever pytest was started."""
    from evalkit.app.settings_read import load_settings
    from evalkit.project import project_root

    known = config.stash.setdefault(_SETTINGS, {})
    root = project_root(path.parent) or config.invocation_params.dir
    if root not in known:
        known[root] = load_settings(root, os.environ)
    return known[root]


def _overrides(config: pytest.Config) -> dict[str, Any]:
    return {"samples": config.getoption("--evalkit-samples"), "target": config.getoption("--evalkit-target")}


def _scratch(config: pytest.Config) -> Path:
    """The folder of the session's account, the same for all its workers."""
    return Path(tempfile.gettempdir()) / f"evalkit-pytest-{_session(config)}"


def _session(config: pytest.Config) -> str:
    if _SESSION not in config.stash:
        config.stash[_SESSION] = getattr(config, "workerinput", {}).get(_WORKER_KEY) or uuid.uuid4().hex
    return config.stash[_SESSION]
