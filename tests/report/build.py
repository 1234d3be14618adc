"""Made-up runs of any size, as the verdict floor would hand them over."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalkit.canonical import Json, digest
from evalkit.case.model import Case, Dropped, LifeEvent
from evalkit.check.model import Check
from evalkit.distil.coverage import coverage
from evalkit.report.model import Background, ReportModel, build_report
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.suite.model import Manifest, Outcome, Sample, SampleCheck
from evalkit.trace.model import Step, StepError, Trace
from evalkit.verdict.baseline import BaselineInfo
from evalkit.verdict.history import Night
from evalkit.verdict.model import BaselineRow, CaseVerdict, Change, Decision, Word

NO_REPEAT = Check("repeated_effect", {"names": ["refund_order"]}, rule="incident:repeated_effect")
LIMIT = Check("step_limit", {"max_steps": 40}, gating=False, rule="incident:step_limit")
LETTERS: Mapping[str, Outcome] = {"p": "passed", "f": "failed", "m": "missed", "e": "errored"}


@dataclass
class RunParts:
    """The arguments of `build_report`, to be changed by a test before the model is built."""

    verdicts: list[CaseVerdict] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    decision: Decision = field(default_factory=lambda: Decision("PASS", "all 1 permanent cases passed"))
    asked: list[list[str]] = field(default_factory=list)
    background: Background = field(default_factory=Background)
    notices: tuple[str, ...] = ()

    def add(
        self,
        case_id: str,
        letters: str,
        *,
        permanent: bool = False,
        baseline: tuple[int, int] | None = None,
        change: Change = "no baseline",
        p: float | None = None,
        title: str = "",
        reason: str = "",
        word: Word | None = None,
        incident: Trace | None = None,
        failing: Trace | None = None,
        link: str = "",
        tag: str = "refund",
        signature: str = "SIDE_EFFECT_REPEATED:refund_order",
    ) -> RunParts:
        """Adds a case whose samples are given as letters: passed, failed, missed, errored."""
        incident = incident or refund_trace(case_id, buggy=True)
        runs = {"passed": refund_trace(case_id, buggy=False), "failed": failing or refund_trace(case_id, buggy=True)}
        digests = {outcome: digest([case_id, outcome])[:32] for outcome in runs}
        for outcome, trace in runs.items():
            self.traces[digests[outcome]] = trace
        samples = [
            sample_of(case_id, at, LETTERS[letter], digests.get(LETTERS[letter], ""))
            for at, letter in enumerate(letters)
        ]
        self.samples[case_id] = samples
        self.cases[case_id] = case_of(case_id, incident, permanent, title or "the customer was refunded twice")
        verdict = verdict_of(case_id, samples, permanent, baseline, change, p, self.cases[case_id].title, link)
        verdict = replace(
            verdict,
            reason=reason or verdict.reason,
            verdict=word or verdict.verdict,
            tags=(tag,),
            signature=signature,
        )
        self.verdicts.append(verdict)
        return self

    def model(self) -> ReportModel:
        """The model of these parts."""

        def traces(digests: list[str]) -> Mapping[str, Trace]:
            self.asked.append(digests)
            return {found: self.traces[found] for found in digests if found in self.traces}

        return build_report(
            MANIFEST,
            self.verdicts,
            self.decision,
            self.samples,
            self.cases,
            traces,
            background=self.background,
            notices=self.notices,
        )


MANIFEST = Manifest(
    run_id="20260301T041500Z-release-9f2c",
    suite={"name": "release", "target": "shop.agent:run", "samples": 10, "mode": "exact", "seed": 0},
    cases=(),
    started_at="2026-03-01T04:15:00Z",
    actor="ci",
    reason="release 2.4.0",
    environment={"python": "3.11.7", "commit": "4b1de0f3a9", "dirty": False, "packages": {"openai": "2.1.0"}},
    layers=("sockets refused",),
)


def refund_trace(case_id: str, *, buggy: bool) -> Trace:
    """A run of a refund agent; the buggy one refunds where it should look up, and so refunds twice."""
    order: dict[str, Json] = {"order_id": "A-1001"}
    first: Step = tool(2, "refund_order" if buggy else "lookup_order", {**order, **({"amount": 49.9} if buggy else {})})
    steps = (
        Step(0, "other", "user_message", output={"role": "user", "content": "Where is my refund for order A-1001?"}),
        model(1, first),
        first,
        model(3, tool(4, "refund_order", {**order, "amount": 49.9})),
        tool(4, "refund_order", {**order, "amount": 49.9}),
        Step(
            5, "model", "chat", {"messages": [{"role": "tool", "content": "ok"}]}, answer("Your refund is on its way.")
        ),
    )
    output = "Your refund is on its way."
    return Trace(case_id, "refund-agent", "evalkit", steps, "Where is my refund?", output, started_at=1_772_300_000.0)


def tool(seq: int, name: str, arguments: dict[str, Json], error: StepError | None = None) -> Step:
    """A tool step."""
    result: Json = (
        {"status": "refunded", "id": "re_1"} if name.startswith("refund") else {"status": "paid", "total": 49.9}
    )
    effect: Any = "write" if name.startswith("refund") else "read"
    return Step(seq, "tool", name, arguments, None if error else result, error, effect=effect)


def model(seq: int, called: Step) -> Step:
    """A model step that decides to call a tool."""
    calls: list[Json] = [{"id": f"call_{seq}", "name": called.name, "arguments": called.input}]
    messages: list[Json] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Where is my refund?"},
    ]
    return Step(seq, "model", "chat", {"messages": messages}, {**answer(None), "tool_calls": calls})


def answer(text: str | None) -> dict[str, Json]:
    """An assistant's message."""
    return {"role": "assistant", "content": text}


def case_of(case_id: str, incident: Trace, permanent: bool, title: str) -> Case:
    """A case of an incident."""
    life = [LifeEvent("proposed", "evalkit ingest", "made from a trace", "2026-02-11T09:30:00Z")]
    if permanent:
        life.append(LifeEvent("permanent", "mira@shop.example", "refunds must never double", "2026-02-12T10:00:00Z"))
    record = SanitizationRecord("1", "0" * 64, "0" * 16, "0" * 64, "0" * 64, {"email": 2})
    return Case(
        id=case_id,
        version=3,
        title=title,
        trace=SanitizedTrace.admitted(incident, record),
        kept=tuple(step.seq for step in incident.steps),
        checks=(LIMIT, NO_REPEAT),
        life=tuple(life),
        parent="ab" * 32,
        dropped=(Dropped(9, "tool", "get_weather", "not on the path"),),
        source={"trace_id": incident.id, "dialect": "evalkit"},
        signature="SIDE_EFFECT_REPEATED:refund_order",
        target="shop.agent:run",
    )


def sample_of(case_id: str, index: int, outcome: Outcome, trace: str) -> Sample:
    """One sample."""
    reasons: dict[Outcome, str] = {
        "failed": 'refund_order({"amount":49.9,"order_id":"A-1001"}) was made again: steps 2, 4, wanted once',
        "missed": "a fixture was missing",
        "errored": "ConnectError: connection refused",
    }
    miss = (
        'call 3: tool lookup_order has no recorded answer; nearest is step 2 (/order_id: recorded "A-1001", got "1001")'
    )
    judged = outcome in ("passed", "failed")
    checks = (
        SampleCheck(LIMIT.id, False, True, "6 steps of 40"),
        SampleCheck(NO_REPEAT.id, True, outcome == "passed", reasons.get(outcome, "no change was made twice"), (2, 4)),
    )
    return Sample(
        case_id=case_id,
        case_version=3,
        index=index,
        outcome=outcome,
        checks=checks if judged else (),
        reason=reasons.get(outcome, ""),
        misses=(miss,) if outcome == "missed" else (),
        trace=trace,
        substituted=4,
        duration_s=0.012,
    )


def verdict_of(
    case_id: str,
    samples: Sequence[Sample],
    permanent: bool,
    baseline: tuple[int, int] | None,
    change: Change,
    p: float | None,
    title: str,
    link: str,
) -> CaseVerdict:
    """A verdict that follows from the samples, by the policy that no sample may fail."""
    count = {outcome: sum(sample.outcome == outcome for sample in samples) for outcome in LETTERS.values()}
    n = count["passed"] + count["failed"]
    lost = count["missed"] + count["errored"]
    word: Word = "FAIL" if count["failed"] else "INCONCLUSIVE" if lost or not n else "PASS"
    reasons = {
        "FAIL": f"{count['failed']} of {n} samples failed: The agent does not make refund_order twice.",
        "INCONCLUSIVE": f"{count['missed']} missed and {count['errored']} errored of {len(samples)} samples",
        "PASS": f"none of {n} samples failed; the failure rate is below 25.9% (95%)",
    }
    low, high = wilson(count["passed"], n)
    row = BaselineRow(*baseline, *wilson(*baseline)) if baseline else None
    return CaseVerdict(
        case_id=case_id,
        version=3,
        digest=digest(case_id),
        title=title,
        permanent=permanent,
        passed=count["passed"],
        failed=count["failed"],
        missed=count["missed"],
        errored=count["errored"],
        low=low,
        high=high,
        verdict=word,
        change=change,
        reason=reasons[word],
        baseline=row,
        p_value=p,
        p_adjusted=None if p is None else min(1.0, p * 3),
        failing_checks=((NO_REPEAT.id, "The agent does not make refund_order twice.", count["failed"]),)
        if count["failed"]
        else (),
        owner="payments",
        link=link,
        signature="SIDE_EFFECT_REPEATED:refund_order",
        tags=("refund",),
    )


def wilson(passed: int, n: int) -> tuple[float, float]:
    """An interval that will do for pictures."""
    if not n:
        return 0.0, 1.0
    rate, z = passed / n, 1.96
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def blocked_run() -> RunParts:
    """A run with one row of every sort, whose permanent gate fails."""
    parts = RunParts()
    parts.add(
        "refund-twice",
        "ppfpffpppf",
        permanent=True,
        baseline=(20, 20),
        change="regressed",
        p=0.0021,
        link="https://incidents.example/4711",
    )
    parts.add(
        "wrong-address",
        "pppppppppp",
        permanent=True,
        baseline=(19, 20),
        change="no change shown",
        p=0.67,
        title="the parcel went to the old address",
    )
    parts.add("escalation-skipped", "ppmpppmppe", permanent=True, title="an angry customer was not handed over")
    parts.add(
        "slow-search",
        "fffffpppff",
        baseline=(19, 20),
        change="regressed",
        p=0.0004,
        title="search ran forty times before an answer",
        tag="search",
    )
    parts.add(
        "tone-in-chinese",
        "ppfppppppp",
        title="answered in English: 客户用中文提问",
        signature="MODEL_DECISION_TOLD_WRONG",
    )
    parts.add("quota-check", "pppmmpmmmm", title="quota was never looked up")
    parts.add(
        "sometimes-late",
        "pppppppfppppppppppfp",
        word="PASS",
        reason="18 of 20 passed; the pass rate is at least 75%",
        title="delivery date off by one day",
    )
    parts.add(
        "invoice-total", "p" * 10, baseline=(12, 20), change="improved", p=0.99, title="the total left out the tax"
    )
    for number in range(5):
        parts.add(f"passing-{number}", "p" * 10, title="a customer was told the wrong opening hours")
    blocking = (("refund-twice", "4 of 10 samples failed: The agent does not make refund_order twice."),)
    unmeasured = (("escalation-skipped", "2 missed and 1 errored of 10 samples"),)
    parts.decision = Decision("BLOCKED", f"refund-twice: {blocking[0][1]}", blocking, unmeasured)
    return parts


def background(parts: RunParts, nights: int = 9) -> Background:
    """Earlier nights of a run, all of which went better; its baseline; and its cases' coverage."""
    chance = random.Random(2)
    before: list[Night] = []
    for number in range(nights):
        cases = {verdict.case_id: (20 - (chance.random() < 0.1), 20) for verdict in parts.verdicts}
        passed, n = (sum(counts[at] for counts in cases.values()) for at in (0, 1))
        day = f"2026-02-{28 - nights + number + 1:02d}T01:00:00Z"
        before.append(Night(f"{day[:10]}-release", day, passed, n, chance.uniform(0.3, 0.4), cases, outcome="PASS"))
    info = BaselineInfo(
        before[-1].run_id, "release", "mira@shop.example", "release 2.3 went out", "2026-02-28T09:00:00Z"
    )
    return Background(before, info, coverage(parts.cases.values(), ["delete_account"]))


def large_run(cases: int, samples: int, failing_every: int = 20) -> RunParts:
    """A run of many cases; every so many-th fails half of its samples."""
    parts = RunParts()
    for number in range(cases):
        letters = "pf" * (samples // 2) if number % failing_every == 0 else "p" * samples
        parts.add(
            f"case-{number:05d}",
            letters,
            permanent=number % 3 == 0,
            baseline=(samples, samples),
            p=0.5,
            change="no change shown",
        )
    parts.decision = Decision("BLOCKED", "case-00000: fails", (("case-00000", "fails"),))
    return parts
