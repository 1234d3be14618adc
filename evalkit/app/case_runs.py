"""Cases of a suite one at a time, for whoever has a runner of his own, such as pytest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.app.environment import now_utc
from evalkit.app.keys import sanitizing_json
from evalkit.app.run_end import judged
from evalkit.app.run_model import Taken
from evalkit.app.run_plan import check_cost_budget, measures_of, runs_twice, samples_about, with_settings
from evalkit.app.settings import Settings
from evalkit.case.store import METADATA_KEY, read_case
from evalkit.errors import ConfigError
from evalkit.playback.endpoint.ledger import Ledger
from evalkit.playback.kept import trace_from_json
from evalkit.report.reproduce import reproduce
from evalkit.report.text import cut
from evalkit.suite.account import Account
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.choose import choose
from evalkit.suite.died import Lost
from evalkit.suite.executors.protocol import EXECUTORS, Job, Round, Rounds
from evalkit.suite.journal import decode_batch
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.suite.plan import Item, Portion, plan_items, plans_again
from evalkit.suite.seen import Seen, seen_json
from evalkit.suite.work import LEDGER, SANITIZING, WORLD, Worker
from evalkit.trace.diff import compare
from evalkit.trace.model import Trace
from evalkit.trace.visible import visible
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.plans import make_plans
from evalkit.verdict.schedule import wanted

__all__ = ["CaseRun", "CaseRunner", "is_case_file", "message_lines", "properties", "suite_of_cases"]

_MAX_TEXT = 2_000
_MAX_SAMPLES = 1_000
_MAX_REASON = 500
"""Of each sample; characters, as `_MAX_TEXT`."""


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What a case came to.

    Attributes:
        traces: the kept replays, by digest.
    """

    verdict: CaseVerdict
    samples: tuple[Sample, ...]
    traces: Mapping[str, Trace]

    def divergence(self, path: str) -> str:
        """Where the first failing replay parts from a passing one, or else from the incident; empty without one.

        Args:
            path: the case's file.
        """
        failing = self._first("failed")
        if failing is None:
            return ""
        passing = self._first("passed")
        if passing is not None:
            name, left = "a passing replay", passing
        else:
            name, left = "the incident", read_case(path).trace.trace
        first = compare(left, failing).first
        return f"none from {name}, step by step" if first is None else f"from {name}: {first.sentence}"

    def _first(self, outcome: str) -> Trace | None:
        found = (self.traces.get(sample.trace) for sample in self.samples if sample.outcome == outcome)
        return next((trace for trace in found if trace is not None), None)


class CaseRunner:
    """Replays and judges cases of one suite, each when it is asked for; targets and rules are loaded once.

    Samples are taken by the executor that `evalkit run` would take for a case: in forks, where that is safe, so that an
    agent which ends its process ends its replay alone.

    Args:
        account: file of the account that all processes of the session share; made where there is none. Whatever is
            needed for a while lies beside it.
        inside: replay in this process whatever the agent does to it: where a debugger looks on, or another runner
            guards the process.

    Raises:
        ConfigError: the suite wants a sandbox, which needs a process without threads, or a cost budget can't be kept.
    """

    def __init__(
        self, suite: Suite, cases: Sequence[CaseRef], settings: Settings, account: Path, *, inside: bool = False
    ) -> None:
        if suite.sandbox:
            cure = "evalkit run keeps it in a sandbox, and writes junit.xml"
            raise ConfigError("a sandboxed suite can't be run inside of another process", suite.name, cure)
        check_cost_budget(suite, list(cases))
        self._suite = suite
        began = now_utc()
        self._manifest = Manifest("", suite_json(suite), (), began, measures=measures_of(suite, list(cases), began))
        self._plans = make_plans(suite, cases, self._manifest.measures)
        compared = max(1, len(self._manifest.measures))  # a case is judged alone, and has its share of the error
        self._judging = replace(suite, policy=replace(suite.policy, alpha=suite.policy.alpha / compared))
        plan: dict[str, Any] = {
            **suite_json(suite), SANITIZING: sanitizing_json(settings), WORLD: settings.world.json()
        }  # fmt: skip
        self._ledger: Ledger | None = None
        if suite.live or suite.budget.json():
            account.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            concurrency = 1 if suite.model is None else suite.model.concurrency
            known = account.exists()
            self._ledger = Ledger(account) if known else Ledger.opened(account, suite.budget, concurrency)
            plan[LEDGER] = str(account)
        self._plan = plan
        self._scratch = account.parent
        self._inside = inside
        self._rounds: Rounds | None = None
        self._workers = 1
        self._open = ExitStack()

    def close(self) -> None:
        """Ends the workers; a case that is asked for later has new ones."""
        self._rounds = None
        self._open.close()

    def run(self, case: CaseRef) -> CaseRun:
        """Replays a case as often as its plan says, and judges it.

        Raises:
            ConfigError: its target can't be loaded.
            IntegrityError: it was changed after writing.
        """
        plan = {case.id: self._plans[case.id]}
        found = _Found()
        try:
            while lacking := wanted(plan, found.seen, frozen=runs_twice(self._suite)):
                before = len(found.samples)
                self._take(case, lacking, found)
                if len(found.samples) == before:  # the budget is spent
                    break
        except BaseException:  # others of its workers may be at work still
            self.close()
            raise
        samples = [found.samples[index] for index in sorted(found.samples)]
        return CaseRun(self._judged(case, samples), tuple(samples), found.traces)

    def _take(self, case: CaseRef, lacking: Mapping[str, int], found: _Found) -> None:
        """Takes the samples that a case lacks, and again those that infrastructure spoiled."""
        self._do(case, plan_items([case], lacking, self._workers, found.seen), found)
        for items in plans_again([case], lacking, self._workers, found.seen, self._suite.retries):
            if self._over():
                return
            self._do(case, items, found)

    def _do(self, case: CaseRef, items: list[Item], found: _Found) -> None:
        rounds = self._working_on(case)
        while items:
            lost = Lost(self._suite, found.add)
            rounds(Round(items, found.add, lost.died, lost.late))
            items = lost.to_do_again(found.seen)

    def _working_on(self, case: CaseRef) -> Rounds:
        """The executor, opened when it is first needed."""
        if self._rounds is None:
            executor, self._workers = self._chosen(case)
            self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
            scratch = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="work-", dir=self._scratch)))
            job = Job(self._plan, self._workers, scratch, (Path(case.path).parent.parent,), self._over)
            self._rounds = self._open.enter_context(EXECUTORS.get(executor)(job))
        return self._rounds

    def _chosen(self, case: CaseRef) -> tuple[str, int]:
        if self._inside:
            return "serial", 1
        # a fork is right only where loading the agent, which the fork then has, started no threads
        Worker(self._plan).warm(Item(0, (Portion(case.path, case.id, case.version, (), digest=case.digest),)))
        executor, count = choose(self._suite, [case], samples_about(self._suite, {case.id: self._plans[case.id]}))
        return (executor, count) if executor == "fork" else ("serial", 1)

    def _over(self) -> bool:
        return self._ledger is not None and bool(self._ledger.stopped())

    def _judged(self, case: CaseRef, samples: list[Sample]) -> CaseVerdict:
        account = Account(stopped="" if self._ledger is None else self._ledger.stopped())
        found = {case.id: samples} if samples else {}
        taken = Taken(Path(), self._manifest, self._judging, [case], found, account)
        (verdict,) = judged(taken, self._plans)
        return verdict


class _Found:
    """What a case's workers handed in."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.samples: dict[int, Sample] = {}
        """By index; of those that were replayed again the last."""
        self.traces: dict[str, Trace] = {}

    def add(self, lines: Sequence[bytes]) -> None:
        """Takes journal lines."""
        for fresh, kept in map(decode_batch, lines):
            self.seen.add(seen_json(fresh))
            self.samples.update((sample.index, sample) for sample in fresh)
            self.traces |= {one.digest: trace_from_json(one.trace, one.digest) for one in kept}


def suite_of_cases(settings: Settings, overrides: Mapping[str, Any]) -> Suite:
    """The suite of cases that are named one by one: each on its own target, from its recording."""
    suite = Suite(name="cases", target=overrides.get("target") or "", samples=overrides.get("samples"))
    return with_settings(suite, settings)


def is_case_file(path: Path, library: Path) -> bool:
    """Whether a Parquet file is a case's version; whatever lies where one belongs is, be it broken or overwritten.

    Args:
        library: the project's folder of cases.
    """
    if path.parent.parent.resolve() == library.resolve() or (path.parent / "case.md").exists():
        return True
    try:
        return METADATA_KEY in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def message_lines(run: CaseRun, case: CaseRef, suite: Suite) -> Iterator[str]:
    """Why a case does not pass: the verdict, the checks that fail, where it parts, and how to see it again."""
    verdict = run.verdict
    gate = " [permanent gate]" if verdict.permanent else ""
    word = "not measured" if verdict.effect == "unmeasured" else verdict.verdict
    yield f"{word}{gate}: {_told(verdict.reason)}"
    yield f"  {case.id}@{case.version}: {_told(case.title)}"
    for _, sentence, count in verdict.failing_checks:
        yield f"  broken in {count} of {verdict.n} samples: {_told(sentence)}"
    if divergence := run.divergence(case.path):
        yield f"  first divergence: {_told(divergence)}"
    lost = next((sample for sample in run.samples if sample.outcome != "passed"), None)
    if lost is not None:
        yield f"  sample {lost.index + 1} {lost.outcome}: {_told(lost.reason)}"
    yield f"  reproduce: {visible(reproduce(verdict, suite_json(suite)))}"


def properties(run: CaseRun) -> Iterator[tuple[str, str]]:
    """What JUnit XML tells of a case: its verdict, its counts, its samples."""
    verdict = run.verdict
    yield "case", f"{verdict.case_id}@{verdict.version}"
    yield "verdict", verdict.verdict
    yield "reason", _told(verdict.reason)
    for name in ("passed", "failed", "missed", "errored"):
        yield name, str(getattr(verdict, name))
    for sample in run.samples[:_MAX_SAMPLES]:
        why = f": {_told(sample.reason, _MAX_REASON)}" if sample.reason else ""
        yield f"sample {sample.index + 1}", f"{sample.outcome} in {sample.duration_s:.3f} s{why}"


def _told(text: str, limit: int = _MAX_TEXT) -> str:
    """What an agent or a trace says, in one line of a terminal or a file that others read."""
    return visible(cut(text, limit))
