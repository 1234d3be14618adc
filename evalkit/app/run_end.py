"""After a run: its samples are judged, the release is decided, the reports are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.app.holds import holds_of, left_out_by
from evalkit.app.locks import current_lock_problems
from evalkit.app.run_model import Run, Taken
from evalkit.app.run_plan import baseline_path, runs_twice, suite_baseline
from evalkit.app.settings import Settings
from evalkit.case.lock import read_lock
from evalkit.case.model import Case
from evalkit.case.store import case_versions, read_case
from evalkit.distil.coverage import coverage
from evalkit.errors import InputError
from evalkit.suite.account import read_account
from evalkit.suite.case_ref import CaseRef, CaseRefs, another_file, brief_reference, ids_of
from evalkit.suite.config import suite_from_json
from evalkit.suite.manifest import read_manifest
from evalkit.suite.model import Manifest, Suite
from evalkit.suite.results import read_attempts, read_samples, read_traces
from evalkit.verdict.baseline import Baseline, read_baseline_info
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.gate import decide, if_all_were_run
from evalkit.verdict.history import Night, read_history
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.notices import run_notices
from evalkit.verdict.plans import Plans, idle_policies
from evalkit.verdict.staleness import fresh_part, stale_cases, with_staleness

if TYPE_CHECKING:
    from evalkit.report.model import Background

__all__ = ["cases_left", "cases_of", "finish", "judged", "load_reporting", "load_run", "notices_of", "write_run"]

_MOST_COVERED = 200
"""Cases beyond which a report tells no coverage, since it would read them all: `evalkit coverage` does."""


def finish(run: Taken, settings: Settings, plans: Plans | None = None) -> Run:
    """Judges a whole run's samples, decides, and writes verdicts and report.

    Args:
        plans: the run's; made from the manifest if None.
    """
    if plans is None:
        plans = run.plans()
    verdicts = judged(run, plans)
    decided = run.decided(verdicts, _decision(run, verdicts, settings.cases), notices_of(run, verdicts, plans))
    write_run(decided, run.suite, settings)
    return decided


def _decision(run: Taken, verdicts: Sequence[CaseVerdict], cases: Path) -> Decision:
    """The run's own decision: a suite of permanent cases answers for the whole lock; another's pass may lack some."""
    holds = [*holds_of(run, verdicts)]
    locked, left_out = read_lock(cases), left_out_by(run.manifest, run.suite.select)
    if run.suite.select.gate:
        return decide(verdicts, locked, current_lock_problems(cases), holds=holds, left_out=left_out)
    return if_all_were_run(decide(verdicts, [], [], holds=holds), verdicts, locked, left_out)


def notices_of(run: Taken, verdicts: Sequence[CaseVerdict], plans: Plans) -> tuple[str, ...]:
    """What a reader of a run's numbers should know; see `verdict.notices`."""
    manifest = run.manifest
    frozen, spoiled = runs_twice(run.suite), read_attempts(run.folder)
    found = run_notices(
        run.samples, verdicts, plans, frozen=frozen, raised=manifest.raised, spoiled=spoiled,
        began=manifest.environment, continued=manifest.continued,
    )  # fmt: skip
    return (*(() if manifest.part else idle_policies(run.cases, run.suite)), *_baseline_of_another(run.suite), *found)


def _baseline_of_another(suite: Suite) -> Iterator[str]:
    """That the file in the place of a suite's own baseline is not it; one that a suite names may be any suite's."""
    path = Path(suite.baseline)
    if suite.baseline and path.name == baseline_path(Path(f"{suite.name}.toml")).name:
        info = read_baseline_info(path)
        if info.suite != suite.name:
            yield f"the baseline is one of suite {info.suite}, not of {suite.name} (run {info.run_id}): {path.name}"


def load_reporting() -> None:
    """Loads what only the reports need: a tenth of a second or two, while something else is waited for."""
    from evalkit.app.reporting import write_reports  # noqa: F401
    from evalkit.report.page import load_templates

    load_templates()


def write_run(run: Run, suite: Suite, settings: Settings) -> None:
    """Writes verdicts and report of a run that is judged and decided."""
    from evalkit.app.reporting import write_reports

    cases = _CasesByNeed(run.cases)
    write_reports(run, cases, partial(read_traces, run.folder), _background(run.manifest, suite, cases, settings))


def judged(
    run: Taken, plans: Plans, *, sampled: Plans | None = None, baseline: Baseline | None = None
) -> Sequence[CaseVerdict]:
    """The verdicts on a run's samples.

    Args:
        plans: what judges.
        sampled: what the samples were taken by, where other plans judge them.
        baseline: what the cases are compared with, beside the policies' own decisions; the suite's own if None.
    """
    manifest, suite, cases, samples = run.manifest, run.suite, run.cases, run.samples
    baseline = baseline or _compared_with(suite, manifest)
    stale = stale_cases(cases, samples, baseline, suite.baseline_rules, manifest.started_at)
    verdicts = case_verdicts(
        cases,
        samples,
        plans,
        fresh_part(baseline, stale),
        frozen=suite.mode == "exact",
        alpha=suite.policy.alpha,
        stopped=run.account.stopped,
        pass_k=suite.pass_k,
        underpowered={case_id: plans[case_id].underpowered for case_id in manifest.underpowered if case_id in plans},
        sampled=sampled,
        twice=runs_twice(suite),
    )
    return with_staleness(verdicts, stale)


def _compared_with(suite: Suite, manifest: Manifest) -> Baseline | None:
    """The suite's baseline, where it is not the run itself, which may have become it: each is as good as itself."""
    baseline = suite_baseline(suite)
    if baseline is None or manifest.run_id in (baseline.info.run_id, *baseline.info.runs):
        return None
    return baseline


def load_run(folder: Path, settings: Settings) -> Taken:
    """What a finished run took.

    Raises:
        InputError: there is none, it is not finished, or a case of it is gone.
    """
    manifest, samples = read_manifest(folder), read_samples(folder)
    suite = suite_from_json(manifest.suite, str(folder))
    return Taken(folder, manifest, suite, cases_of(manifest, settings.cases, folder), samples, read_account(folder))


def cases_of(manifest: Manifest, root: Path, folder: Path) -> CaseRefs:
    """The run's cases as they were run; a version that is gone or is another one now is refused."""
    found, gone = cases_left(manifest, root)
    for case_id, version, _ in gone:
        raise InputError(f"case {case_id} version {version} is gone", str(folder), "restore it, or run the suite again")
    return found


def cases_left(manifest: Manifest, root: Path) -> tuple[CaseRefs, list[tuple[str, int, str]]]:
    """The run's cases as they were run, and those that are gone: id, version and state.

    Raises:
        IntegrityError: a version is another one now.
    """
    gone: list[tuple[str, int, str]] = []

    def found() -> Iterator[CaseRef]:
        for case_id, version, digest, state in manifest.cases:
            path = dict(case_versions(root / case_id)).get(version)
            if path is None:
                gone.append((case_id, version, state))
                continue
            case = brief_reference(path)
            if case.digest != digest:
                raise another_file(case_id, version, path)
            yield case

    return CaseRefs(found()), gone


def _background(manifest: Manifest, suite: Suite, cases: Mapping[str, Case], settings: Settings) -> Background:
    """What the report sees the run against: earlier nights, the baseline, and what its cases cover."""
    from evalkit.report.model import Background

    baseline = _compared_with(suite, manifest)
    few = len(cases) <= _MOST_COVERED
    return Background(
        nights=_nights(manifest),
        baseline=None if baseline is None else baseline.info,
        coverage=coverage(cases.values(), [name for name, _ in settings.effects]) if few else None,
        uncovered="" if few else f"Told of runs of up to {_MOST_COVERED} cases; evalkit coverage reads all there are.",
    )


def _nights(manifest: Manifest) -> tuple[Night, ...]:
    """The suite's nights; a broken history stops no report: it is told of where this run can't be added to it."""
    try:
        return read_history(Path(manifest.history)) if manifest.history else ()
    except InputError:
        return ()


class _CasesByNeed(Mapping[str, Case]):
    """The run's cases by id, each read when it is asked for: a report shows few of them in full."""

    def __init__(self, cases: Sequence[CaseRef]) -> None:
        self._cases = cases
        self._ids = ids_of(cases)
        self._read: dict[str, Case] = {}

    def __getitem__(self, case_id: str) -> Case:
        if case_id not in self._read:
            try:
                at = self._ids.index(case_id)  # looked for: a table of all would be larger than what is asked for
            except ValueError:
                raise KeyError(case_id) from None
            self._read[case_id] = read_case(self._cases[at].path)
        return self._read[case_id]

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._ids  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
