"""What the page holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.report.detail import build_detail
from evalkit.report.markdown import render_markdown
from evalkit.report.model import ReportModel, build_report
from evalkit.report.row import Row
from evalkit.trace.model import Trace
from evalkit.verdict.model import Decision
from tests.build import a_case
from tests.report.build import MANIFEST, NO_REPEAT, RunParts, blocked_run, large_run, refund_trace


def row_of(model: ReportModel, case_id: str) -> Row:
    """The row of one case."""
    return next(row for row in model.rows if row.verdict.case_id == case_id)


def test_sections_come_by_urgency() -> None:
    """Permanent gates, regressions, failing, inconclusive, flaky, fixed, the rest; each case once."""
    model = blocked_run().model()
    assert [section.key for section in model.sections] == [
        "gates",
        "regressed",
        "failing",
        "inconclusive",
        "flaky",
        "fixed",
        "rest",
    ]
    gates = [row.verdict.case_id for row in model.sections[0].rows]
    assert gates == ["refund-twice", "escalation-skipped", "wrong-address"]
    assert len({row.anchor for row in model.rows}) == len(list(model.rows)) == 13


def test_rows_carry_their_numbers_as_text() -> None:
    """Rate, interval, baseline and p values are told, not only drawn."""
    row = row_of(blocked_run().model(), "refund-twice")
    assert (row.rate, row.baseline, row.p_raw, row.p_adjusted) == ("60%", "100% (20 of 20)", "0.0021", "0.0063")
    assert (row.word, row.remarks, row.counts) == ("Fails", ("flaky", "regressed"), "6 of 10 passed")
    assert row.command == "evalkit replay refund-twice@3 --target shop.agent:run"


def test_a_case_without_results_claims_no_rate() -> None:
    """Only passed and failed samples make a rate; without them there is neither rate nor interval."""
    row = row_of(RunParts().add("a", "mme").model(), "a")
    assert (row.rate, row.interval, row.counts, row.word) == ("–", "", "no result, 2 missed, 1 errored", "Inconclusive")
    assert row.picture.bar == ""


def test_many_passing_rows_are_folded_and_none_is_lost() -> None:
    """Only quiet rows are folded."""
    model = large_run(100, 4).model()
    folded = [row for section in model.sections for row in section.folded]
    assert len(folded) > 50
    assert all(row.quiet for row in folded)
    assert len(list(model.rows)) == 100


def test_what_screening_left_alone_hides_no_open_question() -> None:
    """Cases without suspicion are none of the inconclusive ones, ask for no attention, and are folded."""
    parts = RunParts().add("a-open", "pppmm", word="INCONCLUSIVE")
    for number in range(40):
        parts.add(f"case-{number:02d}", "ppppf" if number == 7 else "ppppp", word="INCONCLUSIVE")
        parts.verdicts[-1] = replace(parts.verdicts[-1], screened=True)
    model = parts.model()
    tallies = {tally.key: tally.count for tally in model.tallies}
    assert (tallies["inconclusive"], tallies["screened"], tallies["pass"]) == (1, 40, 0)
    assert [(section.key, len(section.rows), len(section.folded)) for section in model.sections] == [
        ("inconclusive", 1, 0),
        ("screened", 1, 39),
    ]
    assert [row.verdict.case_id for row in model.loud] == ["a-open", "case-07"]
    assert row_of(model, "case-03").word == "Screened"
    assert render_markdown(model).count("| <code>") == 2


def test_failing_checks_come_first_with_their_reasons() -> None:
    """A gating check that failed stands before an observation, with what was found against what was wanted."""
    detail = row_of(blocked_run().model(), "refund-twice").detail
    assert detail is not None
    first, second = detail.checks
    assert (first.id, first.state, first.failed, first.judged) == (NO_REPEAT.id, "failed", 4, 10)
    assert "wanted once" in first.reasons[0][0]
    assert (second.state, second.gating) == ("held", False)


def test_misses_name_the_nearest_call() -> None:
    """Lost samples are grouped by reason, with what was asked for."""
    detail = row_of(blocked_run().model(), "quota-check").detail
    assert detail is not None
    assert [(loss.outcome, loss.count, loss.samples) for loss in detail.losses] == [("missed", 6, (4, 5, 7, 8, 9, 10))]
    assert "nearest is step 2" in detail.losses[0].misses[0]


def test_the_incident_is_told_from_facts() -> None:
    """The sentences name what the trace holds."""
    detail = row_of(blocked_run().model(), "refund-twice").detail
    assert detail is not None
    told = " ".join(detail.incident)
    assert "It changed the world by: refund_order 2 times." in told
    assert "6 steps on the path to the failure, 1 step set aside." in told


def test_a_broken_clock_does_not_stop_the_report() -> None:
    """A recorded time may be anything."""
    incident = replace(refund_trace("a", buggy=True), started_at=1e300)
    detail = row_of(RunParts().add("a", "f", incident=incident).model(), "a").detail
    assert detail is not None
    assert "since 1970" in detail.incident[0]


def test_a_replay_without_kept_steps_leaves_the_incident_alone() -> None:
    """The page says that no replay's steps were kept."""
    parts = RunParts().add("a", "f")
    parts.traces.clear()
    detail = row_of(parts.model(), "a").detail
    assert detail is not None
    assert detail.trajectory is not None
    assert detail.trajectory.columns == ("incident",)
    assert detail.trajectory.divergence == "no replay's steps were kept"


class _Counting(Mapping[str, Case]):
    """Cases that note which of them are read."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases
        self.read: list[str] = []

    def __getitem__(self, case_id: str) -> Case:
        self.read.append(case_id)
        return self._cases[case_id]

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._cases

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)


def test_passing_cases_of_a_large_run_are_never_read() -> None:
    """A large green run costs no case file; traces are asked for once."""
    parts = large_run(120, 4, failing_every=60)
    cases = _Counting(parts.cases)
    asked: list[list[str]] = []

    def traces(digests: list[str]) -> Mapping[str, Trace]:
        asked.append(digests)
        return {}

    model = build_report(MANIFEST, parts.verdicts, parts.decision, parts.samples, cases, traces)
    assert sum(row.detail is not None for row in model.rows) == 2
    assert cases.read == ["case-00000", "case-00060"]
    assert len(asked) == 1
    assert len(asked[0]) == 4


def test_a_small_run_is_told_whole() -> None:
    """Who opens a passing case sees what it guards: its incident, its checks, each sample."""
    detail = row_of(large_run(60, 4, failing_every=30).model(), "case-00001").detail
    assert detail is not None
    assert [check.state for check in detail.checks] == ["held", "held"]
    assert [sample.number for sample in detail.samples] == [1, 2, 3, 4]
    assert "refund-agent" in " ".join(detail.incident)


def test_one_reason_is_given_as_it_is_and_several_are_counted() -> None:
    """The banner's sentence never repeats the list below it."""
    parts = RunParts().add("a", "p", permanent=True).add("b", "f", permanent=True)
    assert parts.model().reason == "all 1 permanent cases passed"
    parts.decision = Decision("BLOCKED", "a: x (and 1 more)", (("a", "x"), ("b", "y")))
    assert parts.model().reason == "2 permanent gates block."
    parts.decision = Decision("BLOCKED", "a: x (and 2 more)", (("a", "x"), ("sandbox", "y"), ("b", "z")), (("c", "w"),))
    assert parts.model().reason == "3 reasons block, 1 permanent gate could not be measured."


def test_the_banner_tells_what_is_about_no_case_first_then_the_worst() -> None:
    """Of many only some are shown: those that the page shows first."""
    parts = RunParts().add("a", "pf", permanent=True).add("b", "ff", permanent=True)
    parts.decision = Decision("BLOCKED", "a: x (and 2 more)", (("a", "x"), ("sandbox", "y"), ("b", "z")))
    notices = parts.model().blocking
    assert [(one.case_id, one.anchor) for one in notices] == [("sandbox", ""), ("b", "case=b"), ("a", "case=a")]


def test_conditions_are_read_as_text() -> None:
    """Tables say what they set; what says nothing is left out."""
    parts = RunParts().add("a", "p")
    manifest = replace(MANIFEST, environment={"git_commit": "", "dirty": False, "versions": {"openai": "3.57.0"}})
    model = build_report(manifest, parts.verdicts, parts.decision, parts.samples, parts.cases, lambda _: {})
    assert ("versions", "openai 3.57.0") in model.conditions
    assert not {"git_commit", "dirty"} & {label for label, _ in model.conditions}


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", " https://a", "//evil"])
def test_only_web_addresses_become_links(link: str) -> None:
    """An incident's link comes from a case file: it may hold anything."""
    assert row_of(RunParts().add("a", "p", link=link).model(), "a").href == ""


def test_a_run_without_samples_has_a_page() -> None:
    """Verdicts without samples, and a run without cases."""
    parts = RunParts().add("a", "")
    parts.samples.clear()
    assert row_of(parts.model(), "a").samples == ()
    assert list(RunParts().model().rows) == []


def test_all_samples_of_a_row_are_kept_for_machines() -> None:
    """JUnit tells each sample."""
    samples = row_of(blocked_run().model(), "sometimes-late").samples
    assert [sample.index for sample in samples] == list(range(20))


def test_a_case_says_how_strong_its_checks_are_and_how_it_was_pruned() -> None:
    """What a reader must know before trusting a green row: what would get through, and what was proved."""
    strength: dict[str, Json] = {
        "caught": 8, "faults": 9, "survivors": ["the answer has another /total"],
        "passed": 5, "variations": 5, "blamed": [],
    }  # fmt: skip
    case = replace(
        a_case(),
        strength=strength,
        pruning={"verified": False, "why": "no target"},
        closed={"exact": "step 1: no result"},
    )
    told = dict(build_detail(case, [], {}, 500).lineage)
    assert told["strength of the checks"].startswith("caught 8 of 9 small faults")
    assert told["strength of the checks"].endswith("not caught: the answer has another /total")
    assert told["pruning"] == "not verified: no target"
    assert told["replay modes closed"] == "exact: step 1: no result"
