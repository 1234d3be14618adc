"""Gates by simulation: suites of a scripted agent with known pass rates, run by the real runner, decided by the gate.

    python ci/bench/gates.py [--suites N] [--workers N] [--json]

Each suite's cases are case files that are replayed in mode exact, sample by sample, journaled, looked at after every
batch, written, judged and decided. Whether a sample passes is drawn in the agent, from the randomness that the frozen
world seeds by suite, case and sample. Printed for each setting: how often the gate blocked or passed what it should
not, with the Monte-Carlo error (one standard deviation) and the nominal level; the mean number of samples a case,
against that of the fixed plan, the exact mean of the plan at that rate, what was expected when it was designed, and
Wald's lower bound for any test. Exit code 1 where an error is above its level by more than three standard deviations.

Many suites are replayed in one run, each with plans of its own, since starting a run costs more than a suite does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from evalkit.case.model import Case, LifeEvent
from evalkit.case.store import write_case
from evalkit.check.model import Check
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.stats.sprt import sprt_plan, wald_bound
from evalkit.stats.stopping import characteristics
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.manifest import start_run, suite_json
from evalkit.suite.model import Manifest, Policy, Selection, Suite
from evalkit.suite.results import read_samples
from evalkit.suite.run import OpenRun
from evalkit.suite.samples import RunSamples
from evalkit.suite.select import select_cases
from evalkit.trace.model import Step, Trace
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.gate import decide
from evalkit.verdict.plans import CasePlan, make_plans
from evalkit.verdict.schedule import wanted

HERE = Path(__file__).parent
_CASES_A_RUN = 100
_WIDE = 3.0


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: suites alike.

    Attributes:
        rates: of a suite's permanent cases.
        should: what the gate should decide.
        nominal: how often it may decide the opposite.
        expected: samples a case that the design expected, of suites with one case; None where it did not say.
        baseline: passes are drawn for so many runs of each case's baseline, at `before`.
    """

    name: str
    policy: Policy
    rates: tuple[float, ...]
    should: str
    nominal: float
    expected: float | None = None
    baseline: int = 0
    before: float = 0.0


def _acceptance(good: float, bad: float, counted_good: float, counted_bad: float) -> list[Setting]:
    policy = Policy(p_good=good, p_bad=bad)
    return [
        Setting(f"{good}/{bad}, good", policy, (good,), "PASS", policy.alpha, counted_good),
        Setting(f"{good}/{bad}, bad", policy, (bad,), "BLOCKED", policy.beta, counted_bad),
    ]


_COMPARED = Policy("not_worse", margin=0.25, beta=0.1)
SETTINGS = [
    *_acceptance(0.99, 0.9, 42.4, 23.7),
    *_acceptance(0.95, 0.8, 32.0, 23.4),
    *_acceptance(0.9, 0.7, 27.1, 19.8),
    Setting("four gates, 0.9/0.7, all good", Policy(p_good=0.9, p_bad=0.7), (0.9,) * 4, "PASS", 0.05),
    Setting("four gates, 0.9/0.7, one bad", Policy(p_good=0.9, p_bad=0.7), (0.9, 0.9, 0.9, 0.7), "BLOCKED", 0.05),
    Setting("not worse by 0.25, unchanged", _COMPARED, (0.95,), "PASS", 0.05, 13.2, 100, 0.95),
    Setting("not worse by 0.25, worse", _COMPARED, (0.7,), "BLOCKED", 0.1, 12.8, 100, 0.95),
]


@dataclass(frozen=True, slots=True)
class Counted:
    """What some suites came to."""

    suites: int = 0
    wrong: int = 0
    undecided: int = 0
    samples: int = 0
    fixed: int = 0
    cases: int = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def simulate(job: tuple[int, int, int]) -> Counted:
    """Some suites of one setting, in one run."""
    at, seed, suites = job
    setting = SETTINGS[at]
    sys.path.insert(0, str(HERE))
    memory = Path("/dev/shm")  # a disk's fsyncs are no part of what is asked
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        root = Path(name)
        groups = [_suite_cases(root, setting, number) for number in range(suites)]
        suite = Suite(f"gates {seed}", "gate_agent:run", policy=setting.policy, seed=seed)
        draws = random.Random(f"{setting.name} {seed}")
        plans: dict[str, CasePlan] = {}
        for group in groups:
            measures = {case.id: _measure(setting, draws) for case in group if setting.baseline}
            plans |= make_plans(suite, group, measures)
        cases = [case for group in groups for case in group]
        samples = _run(root / "run", suite, cases, plans)
        found = Counted()
        for group in groups:
            verdicts = case_verdicts(group, samples, plans, None, frozen=True)
            outcome = decide(verdicts, [], []).outcome
            found += Counted(
                suites=1,
                wrong=outcome == ("BLOCKED" if setting.should == "PASS" else "PASS"),
                undecided=outcome == "INCONCLUSIVE",
                samples=sum(verdict.samples for verdict in verdicts),
                fixed=sum(verdict.samples_fixed for verdict in verdicts),
                cases=len(group),
            )
        return found


def _run(folder: Path, suite: Suite, cases: Sequence[CaseRef], plans: dict[str, CasePlan]) -> RunSamples:
    """The runner's own steps, without reports."""
    start_run(folder, Manifest("r", suite_json(suite), tuple((c.id, c.version, c.digest, c.state) for c in cases), ""))
    with OpenRun(folder, suite, cases, executor="serial", workers=1) as run:
        while (lacking := wanted(plans, run.seen, frozen=True)) and run.up_to(lacking):
            pass
        run.finish()
    return read_samples(folder)


def _suite_cases(root: Path, setting: Setting, number: int) -> list[CaseRef]:
    ids = [f"suite-{number}-case-{at}" for at in range(len(setting.rates))]
    for case_id, rate in zip(ids, setting.rates, strict=True):
        write_case(_case(case_id, rate), root / f"cases-{number}")
    found = select_cases(root / f"cases-{number}", Selection())
    return [replace(case, state="permanent") for case in found]


def _case(case_id: str, rate: float) -> Case:
    steps = [Step(at, "tool", "refund", {"order": 7}, {"ok": True}, effect="write") for at in range(2)]
    trace = Trace("incident", "agent", "evalkit", tuple(steps), input={"order": 7, "rate": rate})
    admitted = SanitizedTrace.admitted(trace, SanitizationRecord("1", "0" * 64, "0" * 16, "1" * 64, "2" * 64))
    life = (LifeEvent("proposed", "bench", "simulated", "2026-01-01T00:00:00Z"),)
    check = Check("called", {"name": "refund", "max": 1})
    return Case(id=case_id, title="refunds twice", version=1, trace=admitted, kept=(0, 1), checks=(check,), life=life)


def _measure(setting: Setting, draws: random.Random) -> tuple[int, int]:
    return sum(draws.random() < setting.before for _ in range(setting.baseline)), setting.baseline


def rows(suites: int, workers: int, only: str = "") -> list[dict[str, Any]]:
    """The figures of every setting whose name has `only` in it."""
    jobs = [
        (at, seed, min(_CASES_A_RUN // len(setting.rates), suites - start))
        for at, setting in enumerate(SETTINGS)
        if only in setting.name
        for seed, start in enumerate(range(0, suites, _CASES_A_RUN // len(setting.rates)))
    ]
    totals = [Counted() for _ in SETTINGS]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for job, found in zip(jobs, pool.map(simulate, jobs), strict=True):
            totals[job[0]] += found
    return [_row(setting, total) for setting, total in zip(SETTINGS, totals, strict=True) if total.suites]


def _row(setting: Setting, total: Counted) -> dict[str, Any]:
    share, policy = total.wrong / total.suites, setting.policy
    wald = wald_bound(policy.p_good, policy.p_bad, policy.alpha, policy.beta)
    single = len(setting.rates) == 1 and policy.kind == "acceptance"
    plan = sprt_plan(policy.p_good, policy.p_bad, policy.alpha, policy.beta, batch=policy.batch)
    return {
        "setting": setting.name,
        "suites": total.suites,
        "error": "blocked falsely" if setting.should == "PASS" else "regression missed",
        "rate": round(share, 4),
        "mc_error": round(sqrt(max(share * (1 - share), 1 / total.suites / 4) / total.suites), 4),
        "nominal": setting.nominal,
        "undecided": round(total.undecided / total.suites, 4),
        "samples_a_case": round(total.samples / total.cases, 1),
        "exact": round(float(characteristics(plan, [1 - setting.rates[0]]).expected_runs[0]), 1) if single else None,
        "design": setting.expected,
        "fixed": round(total.fixed / total.cases, 1),
        "saved": round(1 - total.samples / total.fixed, 3),
        "wald_bound": round(wald[setting.should != "PASS"], 1) if single else None,
    }


def table(found: Sequence[dict[str, Any]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| setting | error | rate ± MC | nominal | undecided | samples | exact | design | fixed N | saved | Wald |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        cells = [
            row["setting"], row["error"], f"{row['rate']:.4f} ± {row['mc_error']:.4f}", row["nominal"],
            f"{row['undecided']:.1%}", row["samples_a_case"], row["exact"] or "", row["design"] or "", row["fixed"],
            f"{row['saved']:.0%}", row["wald_bound"] or "",
        ]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suites", type=int, default=2000, help="Suites a setting.")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="Settings with this in their name.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    began = time.monotonic()
    found = rows(given.suites, given.workers, given.only)
    seconds = round(time.monotonic() - began)
    print(json.dumps({"settings": found, "wall_s": seconds}, indent=2) if given.json else table(found))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{seconds} s, {given.workers} workers, {used.ru_utime + used.ru_stime:.0f} CPU s", file=sys.stderr)
    if any(row["rate"] > row["nominal"] + _WIDE * row["mc_error"] for row in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
