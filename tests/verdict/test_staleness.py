"""A baseline is compared with only while it measured the same thing; else it is stale, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalkit.canonical import exact_text
from evalkit.check.model import Check, check_json
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Across, BaselineRules, Policy, PolicyKind, Sample, Served
from evalkit.verdict.baseline import BaselineInfo, make_baseline
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.facts import Facts
from evalkit.verdict.staleness import differences_of_facts, fresh_part, stale_cases, with_staleness
from tests.verdict.planned import plans_of

CHECK = check_json(Check("called", {"name": "refund"}))
CASE = CaseRef("/p", "c", 3, "d", "permanent", "t", "s", "", (), check_text=exact_text([CHECK]).decode(), replayed="r")
INFO = BaselineInfo("run-1", "s", "ann", "why", "2026-02-02T00:00:00Z", measured_at="2026-02-01T00:00:00Z")
SERVED = Served(("m",), ("fp_1", "fp_2"), ("p1",), ("t1",))
NOW = "2026-03-01T00:00:00Z"


def samples(served: Served | None = SERVED, count: int = 4) -> dict[str, list[Sample]]:
    """Passing samples of the case."""
    return {"c": [Sample("c", 3, at, "passed", served=served) for at in range(count)]}


BASELINE = make_baseline(INFO, samples(), [CASE])


def why(
    case: CaseRef = CASE, served: Served | None = SERVED, across: tuple[Across, ...] = (), days: float | None = None
) -> str:
    """Why the baseline is stale for these samples; empty where it is not."""
    return stale_cases([case], samples(served), BASELINE, BaselineRules(days, across), NOW).get("c", "")


@pytest.mark.parametrize(
    ("case", "served", "told"),
    [
        (replace(CASE, version=4, check_text="[]"), SERVED, "version 4 has other gating checks than version 3"),
        (replace(CASE, version=4, replayed="x"), SERVED, "version 4 replays another recording than version 3"),
        (CASE, replace(SERVED, models=("n",)), "m answered then, n now"),
        (CASE, replace(SERVED, models=("m", "n")), "m answered then, m, n now"),
        (CASE, replace(SERVED, fingerprints=("fp_3",)), "configuration was fp_1, fp_2 then, and is fp_3 now"),
        (CASE, replace(SERVED, prompts=("p2",)), "system prompt is another one (p1 then, p2 now)"),
        (CASE, replace(SERVED, toolsets=("t2",)), "tools are described otherwise"),
    ],
)
def test_what_is_measured_otherwise_is_stale(case: CaseRef, served: Served, told: str) -> None:
    """Each says what is otherwise, and the cure; and the verdict shows no comparison."""
    sentence = why(case, served)
    assert told in sentence
    assert "evalkit baseline bless" in sentence
    stale, found = {"c": sentence}, samples(served)
    plans = plans_of([case], found, Policy("zero_failures"), BASELINE)
    (verdict,) = with_staleness(case_verdicts([case], found, plans, fresh_part(BASELINE, stale), frozen=False), stale)
    assert (verdict.change, verdict.stale, verdict.baseline, verdict.p_value) == (
        "stale baseline",
        sentence,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("case", "served"),
    [
        (replace(CASE, version=4, state="retired", title="another"), SERVED),
        (CASE, None),
        (CASE, replace(SERVED, fingerprints=("fp_2",))),
        (CASE, Served()),
        (CASE, replace(SERVED, prompts=("1", "2", "3", "4"))),
    ],
)
def test_what_is_measured_alike_is_not(case: CaseRef, served: Served | None) -> None:
    """Another state of the case, one of the provider's configurations, what is unknown, prompts new in each run."""
    assert why(case, served) == ""


def test_what_is_compared_on_purpose_is_not_stale() -> None:
    """A suite says across what it compares; what else differs still counts."""
    both = replace(SERVED, models=("n",), prompts=("p2",))
    assert why(served=replace(SERVED, models=("n",)), across=("model",)) == ""
    assert "system prompt" in why(served=both, across=("model",))


def test_a_policy_that_compares_has_nothing_to_go_by() -> None:
    """Not worse than a stale baseline is no PASS; a policy of the case alone stands."""
    found = samples(count=60)
    (verdict,) = case_verdicts([CASE], found, plans_of([CASE], found, Policy()), None, frozen=False)
    words: dict[PolicyKind, str] = {"not_worse": "INCONCLUSIVE", "zero_failures": "PASS"}
    for policy, word in words.items():
        (marked,) = with_staleness([replace(verdict, verdict="PASS", policy=policy)], {"c": "stale: why"})
        assert marked.verdict == word
        assert (marked.reason == "stale: why") is (word == "INCONCLUSIVE")


def test_an_old_baseline_is_stale() -> None:
    """From its measurement to the run, whenever it was set; without a limit none is too old."""
    assert "28 days old, and the suite allows 14" in why(days=14)
    assert why(days=28) == why(days=None) == ""
    unknown = make_baseline(replace(INFO, measured_at=""), samples(), [CASE])
    assert "not known how old" in stale_cases([CASE], samples(), unknown, BaselineRules(14), NOW)["c"]


def test_a_case_without_results_then_is_none() -> None:
    """There is no baseline for it, so none is stale."""
    empty = make_baseline(INFO, {}, [CASE])
    assert stale_cases([replace(CASE, replayed="x")], samples(), empty, BaselineRules(), NOW) == {}
    assert stale_cases([CASE], samples(), None, BaselineRules(), NOW) == {}


def test_only_equal_samples_are_added_up() -> None:
    """What a comparison lets pass is no reason to pool."""
    facts = Facts(3, "c", "r", ("m",), ("fp_1", "fp_2"), ("p",), ("t",))
    assert differences_of_facts(facts, facts) == ""
    assert "fp_1, fp_2 then" in differences_of_facts(facts, replace(facts, fingerprints=("fp_1",)))
    assert "none that is known now" in differences_of_facts(facts, replace(facts, models=()))
    assert differences_of_facts(facts, replace(facts, prompts=("1", "2", "3", "4"))) == ""


def test_a_large_cached_baseline_counts_as_such() -> None:
    """Against a hundred samples two failures of twenty are shown to be worse; against twenty they are not."""
    now = samples(count=18)
    now["c"] += [Sample("c", 3, at, "failed", served=SERVED) for at in (18, 19)]
    changes = []
    for n in (20, 100):
        baseline = make_baseline(INFO, samples(count=n), [CASE])
        plans = plans_of([CASE], now, Policy("zero_failures"), baseline)
        (verdict,) = case_verdicts([CASE], now, plans, baseline, frozen=False)
        assert verdict.baseline is not None
        assert verdict.baseline.n == n
        changes.append(verdict.change)
    assert changes == ["no change shown", "regressed"]
