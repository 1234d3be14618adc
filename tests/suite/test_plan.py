"""The plan: every sample is in exactly one item, and what was done is not done again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.plan import Item, Portion, plan_items, plans_again, split_item
from evalkit.suite.seen import Seen


def refs(count: int) -> list[CaseRef]:
    """Some cases."""
    return [CaseRef(f"/c{n}", f"c{n}", 1, "d", "proposed", "t", "", "", ()) for n in range(count)]


def wanted(cases: int, samples: int) -> dict[str, int]:
    """That many samples of each case."""
    return {f"c{n}": samples for n in range(cases)}


def samples_in(items: list[Item]) -> list[tuple[str, int]]:
    """(case, sample) of all items."""
    return [(portion.case_id, index) for item in items for portion in item.portions for index in portion.samples]


@given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 8), st.data())
def test_every_sample_left_is_planned_once(cases: int, samples: int, workers: int, data: st.DataObject) -> None:
    """None lost, none twice, whatever was done before."""
    every = {(f"c{n}", index) for n in range(cases) for index in range(samples)}
    done = data.draw(st.sets(st.sampled_from(sorted(every)), max_size=20))
    seen = Seen()
    seen.add((case_id, [index], "passed", "") for case_id, index in done)
    planned = samples_in(plan_items(refs(cases), wanted(cases, samples), workers, seen))
    assert len(planned) == len(set(planned))
    assert set(planned) == every - done


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 8))
def test_work_is_spread_and_small_cases_share(cases: int, samples: int, workers: int) -> None:
    """No item holds much more than a quarter of a worker's share of what is left, and there are not too many items."""
    items = plan_items(refs(cases), wanted(cases, samples), workers)
    left = cases * samples
    least = -(-left // (workers * 48))
    for item in items:
        share = max(-(-left // (workers * 4)), least)
        assert item.size < 2 * share or share == 1
        left -= item.size
    assert left == 0
    assert len(items) <= workers * 28


def test_a_long_case_is_spread_over_workers() -> None:
    """One case with many samples keeps all workers busy."""
    assert len(plan_items(refs(1), wanted(1, 100), 4)) > 4


def test_a_split_item_holds_each_sample_alone() -> None:
    """After a worker's death only the guilty sample is lost."""
    item = plan_items(refs(2), wanted(2, 3), 1)[0]
    singles = split_item(item, 100, Seen())
    assert samples_in(singles) == samples_in([item])
    assert {single.size for single in singles} == {1}
    assert [single.number for single in singles] == list(range(100, 100 + item.size))


def test_what_a_dead_worker_had_handed_in_is_not_done_again() -> None:
    """Only the samples that are not there are split off."""
    seen = Seen()
    seen.add([("c0", [0], "passed", ""), ("c0", [2], "failed", "")])
    given = Item(0, (Portion("/c0", "c0", 1, (0, 1, 2, 3)),))
    assert samples_in(split_item(given, 0, seen)) == [("c0", 1), ("c0", 3)]


def test_only_errored_samples_are_planned_again_and_only_so_often() -> None:
    """A failed or missed sample never; an errored one as the next attempt, until its retries are used up."""
    seen = Seen()
    seen.add(("c0", [index], outcome, "") for index, outcome in enumerate(["passed", "failed", "missed", "errored"]))
    seen.add([("c1", [0], "errored", "", 3), ("c1", [1], "errored", "", 2), ("c1", [2], "passed", "", 2)])
    items = next(plans_again(refs(2), wanted(2, 9), 1, seen, 2))
    planned = [(p.case_id, p.samples, p.attempt) for item in items for p in item.portions]
    assert planned == [("c0", (3,), 2), ("c1", (1,), 3)]
