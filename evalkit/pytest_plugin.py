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
from collections.abc import Iterator, Sequence
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
_MOST_SAMPLES_TOLD = 1_000
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
        from evalkit.app.run_plan import read_suite
        from evalkit.errors import EvalkitError
        from evalkit.suite.select import select_cases

        try:
            settings = _settings(self.config, self.path)
            suite = read_suite(self.path, settings, _overrides(self.config))
            cases = select_cases(settings.cases, suite.select)
            yield from _items(self, suite, cases, settings)
        except EvalkitError as error:
            raise self.CollectError(str(error)) from None


class CaseFile(_Cases):
    """A case's file: one item, that replays the case on its own target."""

    def collect(self) -> Iterator[pytest.Item]:
        """The item, unless the case is retired."""
        from evalkit.app.case_runs import suite_of_cases
        from evalkit.errors import EvalkitError
        from evalkit.suite.case_ref import reference

        try:
            case = reference(self.path)
            if case.state != "retired":
                settings = _settings(self.config, self.path)
                yield from _items(self, suite_of_cases(settings, _overrides(self.config)), [case], settings)
        except EvalkitError as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """One case. Replaying is its setup: what can't be measured is an error, an agent that is wrong a failure."""

    def __init__(self, *, case: CaseRef, suite: Suite, runner: _Runner, **rest: Any) -> None:
        super().__init__(**rest)
        self._case = case
        self._suite = suite
        self._runner = runner
        self._run: CaseRun | None = None
        self._told: tuple[tuple[str, str], ...] = ()

    def setup(self) -> None:
        """Replays the case; an error where the samples allow no verdict, or there are none.

        A plug-in that tries failures again gets what there is: a case that is measured until it passes always passes.
        Only what infrastructure spoiled is measured anew.
        """
        if self.config.getoption("setuponly", False):  # of --setup-plan, too: nothing is to be tried
            return
        if self._run is None or self._run.verdict.errored:
            others = [one for one in self.user_properties if one not in self._told]
            self._run = self._measured()
            self._told = tuple(_properties(self._run))
            self.user_properties[:] = [*others, *self._told]
        if self._run.verdict.effect == "unmeasured":
            pytest.fail(self._message(), pytrace=False)

    def _measured(self) -> CaseRun:
        from evalkit.app.warned import warnings_passed_on
        from evalkit.errors import EvalkitError

        try:
            with warnings_passed_on(self._runner.warnings):
                return self._runner.get().run(self._case)
        except EvalkitError as error:
            raised = str(error)
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

    def get(self) -> CaseRunner:
        if self._made is None:
            from evalkit.app.case_runs import CaseRunner

            root = str(self._given[2].root.resolve())
            if root not in sys.path:  # the agent is found from the project's folder, wherever pytest was started
                sys.path.insert(0, root)
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


def _properties(run: CaseRun) -> Iterator[tuple[str, str]]:
    """What JUnit XML tells of a case: its verdict, its counts, its samples."""
    verdict = run.verdict
    yield "case", f"{verdict.case_id}@{verdict.version}"
    yield "verdict", verdict.verdict
    yield "reason", verdict.reason
    for name in ("passed", "failed", "missed", "errored"):
        yield name, str(getattr(verdict, name))
    for sample in run.samples[:_MOST_SAMPLES_TOLD]:
        why = f": {sample.reason}" if sample.reason else ""
        yield f"sample {sample.index + 1}", f"{sample.outcome} in {sample.duration_s:.3f} s{why}"


def _is_suite(path: Path, config: pytest.Config) -> bool:
    """Whether a file is a suite that was named: itself, or by the folder of suites, in which every TOML file is one."""
    named, folder = _named(config), path.parent.resolve()
    alone = path.resolve() in named
    if not alone and folder not in named:
        return False
    if folder == config.invocation_params.dir.resolve():  # the files of other programs: nothing is loaded for them
        return _looks_like_suite(path) and (alone or folder == _settings(config, path).suites.resolve())
    return folder == _settings(config, path).suites.resolve() or (alone and _looks_like_suite(path))


def _not_empty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: say what, or leave the option out")
    return text


def _looks_like_suite(path: Path) -> bool:
    try:
        return bool(_TELLING_KEYS & set(tomllib.loads(path.read_text("utf-8"))))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


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

    return is_case_file(path)


def _named(config: pytest.Config) -> tuple[Path, ...]:
    """The files and folders that were named, in the command or by ``testpaths``."""
    if _NAMED not in config.stash:
        base = config.invocation_params.dir
        config.stash[_NAMED] = tuple((base / argument.partition("::")[0]).resolve() for argument in config.args)
    return config.stash[_NAMED]


def _settings(config: pytest.Config, path: Path) -> Settings:
    """The settings of the project that a file belongs to, wherever pytest was started."""
    from evalkit.app.settings import load_settings
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
