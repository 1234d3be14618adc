"""A made-up run of any size for `report.py`: a night's mix of outcomes, with real verdicts and the real gate."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from evalkit.canonical import Json, digest, exact_text
from evalkit.case.model import Case, LifeEvent
from evalkit.check.model import Check, check_json
from evalkit.report.model import Background
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Manifest, Outcome, Policy, Sample, SampleCheck, Suite
from evalkit.trace.model import Step, Trace
from evalkit.verdict.baseline import BaselineInfo, make_baseline
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.gate import decide
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.plans import make_plans, taken_of

TOOLS = ("find_customer", "lookup_order", "check_policy", "quote_refund", "refund_order", "send_mail", "log_ticket")
TEAMS = ("payments", "logistics", "support", "accounts")
CHECKS = (
    Check("repeated_effect", {"names": ["refund_order"]}, rule="incident:repeated_effect"),
    Check("not_called", {"name": "delete_account"}, rule="incident:not_called"),
    Check("step_limit", {"max_steps": 40}, gating=False, rule="incident:step_limit"),
)
MIX: tuple[tuple[float, str], ...] = ((0.89, "p"), (0.04, "flaky"), (0.02, "f"), (0.03, "missed"), (0.02, "errored"))
"""How many cases pass always, sometimes, never; and of how many some samples were lost."""


@dataclass(frozen=True)
class MadeRun:
    """What `build_report` takes."""

    manifest: Manifest
    verdicts: Sequence[CaseVerdict]
    decision: Decision
    samples: dict[str, list[Sample]]
    cases: Mapping[str, Case]
    background: Background

    def traces(self, digests: list[str]) -> Mapping[str, Trace]:
        """Every kept replay: a failing one refunds a second time."""
        return {found: trace_of(int(found[:8]), failing=found.endswith("f")) for found in digests}


class _CasesByNeed(Mapping[str, Case]):
    """Cases that are made when they are asked for, as a run reads them."""

    def __init__(self, refs: list[CaseRef]) -> None:
        self._refs = {ref.id: ref for ref in refs}

    def __getitem__(self, case_id: str) -> Case:
        return case_of(self._refs[case_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._refs)

    def __len__(self) -> int:
        return len(self._refs)


def made_run(count: int, samples: int, seed: int = 1) -> MadeRun:
    """A run of so many cases, each replayed `samples` times; the baseline is an earlier night of the same cases."""
    chance = random.Random(seed)
    refs = [ref_of(number, chance) for number in range(count)]
    tonight = {ref.id: [*samples_of(number, ref, samples, chance)] for number, ref in enumerate(refs)}
    before = {ref.id: [*samples_of(number, ref, samples, chance)] for number, ref in enumerate(refs)}
    info = BaselineInfo(
        "20260228T010000Z-release-aa01", "release", "mira", "the release before", "2026-02-28T08:00:00Z"
    )
    suite = Suite("release", samples=samples, policy=Policy(kind="min_rate", min_rate=0.7))
    plans = make_plans(suite, refs, {}, taken=taken_of(tonight))
    verdicts = case_verdicts(refs, tonight, plans, make_baseline(info, before, refs), frozen=False)
    manifest = Manifest(
        "20260301T010000Z-release-bb02",
        {"name": "release", "target": "shop.agent:run", "samples": samples, "mode": "live-model", "seed": 0},
        tuple((ref.id, ref.version, ref.digest, ref.state) for ref in refs),
        "2026-03-01T01:00:00Z",
        "ci",
        environment={"python": "3.11.7", "commit": "4b1de0f3a9"},
    )
    return MadeRun(
        manifest,
        verdicts,
        decide(verdicts, [], []),
        tonight,
        _CasesByNeed(refs),
        Background([*nights(refs, samples, chance)], info),
    )


def nights(refs: list[CaseRef], samples: int, chance: random.Random) -> Iterator[Night]:
    """Two weeks of nights before: one case of ten fails at times."""
    for day in range(14, 28):
        cases = {
            ref.id: (samples - (number % 10 == 0 and chance.random() < 0.3), samples) for number, ref in enumerate(refs)
        }
        passed = sum(counts[0] for counts in cases.values())
        at = f"2026-02-{day}T01:00:00Z"
        yield Night(
            f"{at[:10]}-release", at, passed, samples * len(refs), chance.uniform(0.9, 1.1), cases, outcome="PASS"
        )


def ref_of(number: int, chance: random.Random) -> CaseRef:
    """A case of the library."""
    tool = chance.choice(TOOLS)
    return CaseRef(
        path="",
        id=f"{tool.replace('_', '-')}-{number:05d}",
        version=1 + number % 3,
        digest=digest(number),
        state="permanent" if number % 3 == 0 else "reviewed",
        title=f"{tool} was called for another customer's order, and nobody noticed for {number % 30} days",
        signature=f"SIDE_EFFECT_REPEATED:{tool}",
        target="shop.agent:run",
        tags=(tool.split("_")[1], chance.choice(("en", "zh"))),
        owner=chance.choice(TEAMS),
        link=f"https://incidents.example/{4000 + number}",
        check_text=exact_text([check_json(check) for check in CHECKS]).decode(),
    )


def samples_of(number: int, ref: CaseRef, count: int, chance: random.Random) -> Iterator[Sample]:
    """A case's samples, of one kind of the mix."""
    kind = chance.choices([word for _, word in MIX], [share for share, _ in MIX])[0]
    rate = {"p": 1.0, "flaky": 0.85, "f": 0.1}.get(kind, 1.0)
    for index in range(count):
        outcome: Outcome = "passed" if chance.random() < rate else "failed"
        if kind == "missed" and chance.random() < 0.4:
            outcome = "missed"
        if kind == "errored" and chance.random() < 0.3:
            outcome = "errored"
        yield sample_of(number, ref, index, outcome, chance)


REASONS: dict[Outcome, str] = {
    "passed": "",
    "failed": 'wanted refund_order({"amount":49.9,"order_id":"A-1001"}) once, got it again: steps 7, 9',
    "missed": 'call 3: lookup_order has no recorded answer; nearest is step 3 (/order_id: recorded "A-1", got "1")',
    "errored": "ConnectError: connection refused",
}


def sample_of(number: int, ref: CaseRef, index: int, outcome: Outcome, chance: random.Random) -> Sample:
    """One sample."""
    judged = outcome in ("passed", "failed")
    results = tuple(
        SampleCheck(check.id, check.gating, at != 0 or outcome == "passed", REASONS[outcome] or "held", (7, 9))
        for at, check in enumerate(CHECKS)
    )
    return Sample(
        case_id=ref.id,
        case_version=ref.version,
        index=index,
        outcome=outcome,
        checks=results if judged else (),
        reason=REASONS[outcome],
        misses=(REASONS["missed"],) if outcome == "missed" else (),
        trace=f"{number:08d}{outcome[0]}" if judged else "",
        live_model=4,
        substituted=8,
        input_tokens=3000,
        output_tokens=200,
        cost_usd=round(chance.uniform(0.001, 0.003), 6),
        duration_s=round(chance.uniform(1.0, 4.0), 3),
    )


@cache
def trace_of(number: int, *, failing: bool) -> Trace:
    """A support agent's run of some twenty steps; a failing one refunds twice."""
    steps: list[Step] = [Step(0, "other", "user_message", output={"role": "user", "content": f"Order A-{number}?"})]
    called = [*TOOLS[:5], *(["refund_order"] if failing else []), *TOOLS[5:]]
    for name in called:
        arguments: dict[str, Json] = {"order_id": f"A-{number}", "amount": 49.9, "note": "as the customer asked " * 4}
        calls: list[Json] = [{"id": f"call_{len(steps)}", "name": name, "arguments": arguments}]
        messages: list[Json] = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is it?"}]
        message: dict[str, Json] = {"role": "assistant", "content": None, "tool_calls": calls}
        steps.append(Step(len(steps), "model", "chat", {"messages": messages}, message))
        answered: Json = {"status": "done", "rows": [{"id": f"{name}-{at}", "total": 10 * at} for at in range(4)]}
        effect = "write" if name in TOOLS[4:] else "read"
        steps.append(Step(len(steps), "tool", name, arguments, answered, effect=effect))  # type: ignore[arg-type]
    steps.append(Step(len(steps), "model", "chat", {"messages": []}, {"role": "assistant", "content": "It is done."}))
    return Trace(f"run-{number}", "shop-agent", "evalkit", tuple(steps), "Where is my refund?", "It is done.")


def case_of(ref: CaseRef) -> Case:
    """The case of a reference."""
    incident = trace_of(int(ref.id.rpartition("-")[2]), failing=True)
    record = SanitizationRecord("1", "0" * 64, "0" * 16, "0" * 64, "0" * 64, {"email": 2})
    life = (
        LifeEvent("proposed", "evalkit ingest", "made from a trace", "2026-02-11T09:30:00Z"),
        LifeEvent("reviewed", "mira@shop.example", "the checks say what went wrong", "2026-02-11T12:00:00Z"),
    )
    return Case(
        id=ref.id,
        version=ref.version,
        title=ref.title,
        trace=SanitizedTrace.admitted(incident, record),
        kept=tuple(step.seq for step in incident.steps),
        checks=CHECKS,
        life=life,
        signature=ref.signature,
        target=ref.target,
        strength={"caught": 40, "faults": 44, "survivors": [], "passed": 30, "variations": 30, "blamed": []},
        tags=ref.tags,
    )
