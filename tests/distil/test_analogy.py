"""What was due for the incident's record, by the example of another's."""

from __future__ import annotations

import pytest

from evalkit.canonical import Json
from evalkit.distil.analogy import about_others, effects_by_analogy
from evalkit.distil.other_records import Asked, other_records
from evalkit.distil.propose import propose
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, tool_step


def refunding(order: Json, card: Json, cents: int, *writes: Step, asked: Json = None) -> Trace:
    """A run that looks an order and its customer's card up, and does what is given."""
    return a_trace(
        tool_step(0, "order", {"id": order}, {"id": order, "customer": f"c-{order}", "cents": cents, "lines": 1}),
        tool_step(1, "customer", {"id": f"c-{order}"}, {"cards": [card, "gift"]}),
        *writes,
        input=asked or f"refund {order}",
    )


def refund(seq: int, order: Json, **arguments: Json) -> Step:
    """A refund."""
    return tool_step(seq, "refund", {"order": order, **arguments}, {"ok": True}, effect="write")


INCIDENT = refunding(17, "visa-1111", 4200, refund(2, 17, cents=9900, to="visa-1111", why="broken"))


def test_values_are_followed_to_where_they_came_from() -> None:
    """The user's word, one look-up, one by what another answered, the agent's own words."""
    run = refunding(18, "visa-2222", 550, refund(2, 18, cents=550, to="visa-2222", why="broken"))
    due = {"order": 17, "cents": 4200, "to": "visa-1111", "why": "broken"}
    assert effects_by_analogy(INCIDENT, run) == [{"name": "refund", "arguments": due}]


def test_values_in_lists_and_made_of_others_are_brought_over() -> None:
    """Wherever they stand in the arguments; an answer's own ids, too."""
    lines: list[Json] = [{"of": 4200, "by": "gift"}, 18, "x-77", "c-18"]
    run = refunding(18, "visa-2222", 4200, refund(2, 18, to="visa-2222", lines=lines))
    due = {"order": 17, "to": "visa-1111", "lines": [{"of": 4200, "by": "gift"}, 17, "x-77", "c-17"]}
    assert effects_by_analogy(INCIDENT, run) == [{"name": "refund", "arguments": due}]


@pytest.mark.parametrize(
    ("incident", "run"),
    [
        (  # the incident never looked the customer up
            a_trace(INCIDENT.steps[0], refund(2, 17), input="refund 17"),
            refunding(18, "visa-2222", 550, refund(2, 18, to="visa-2222")),
        ),
        (INCIDENT, refunding(18, "visa-2222", 550, refund(2, 18, why="lost in may"), asked="18, lost in may")),
        # it stands in two places, and in the incident two different values do
        (INCIDENT, refunding(18, 550, 550, refund(2, 18, cents=550))),
        # so short a number stands anywhere
        (INCIDENT, refunding(18, "visa-2222", 12, refund(2, 18, cents=12))),
    ],
)
def test_where_a_value_has_no_counterpart_there_is_no_analogy(incident: Trace, run: Trace) -> None:
    """Or several, or one that may stand there by accident."""
    assert effects_by_analogy(incident, run) is None


def test_another_date_or_session_is_no_other_record() -> None:
    """What was changed is the same; where it hangs on what the user said, it is another request."""

    def asked(day: str, *write: Step) -> Trace:
        about = {"id": 17, "day": day}
        return a_trace(tool_step(0, "order", about, {"cents": 4200}), *write, input=f"refund 17, it is {day}")

    incident = asked("2026-11-30", refund(1, 17, cents=9900))
    same = asked("2026-12-01", refund(1, 17, cents=4200))
    assert other_records(Asked(incident), Asked(same))
    assert about_others(incident, same) == ""
    assert [check.type for check in propose(incident, passing=[same]) if check.gating] == ["effects_equal"]
    for other in (asked("2026-12-01", refund(1, 17, cents=4200, on="2026-12-01")), asked("2026-12-01")):
        assert about_others(incident, other)


def test_it_is_proposed_for_a_person_to_look_at() -> None:
    """It gates nothing; where examples differ, or the incident did the same, it says nothing."""
    one = refunding(18, "visa-2222", 550, refund(2, 18, cents=550, to="visa-2222", why="broken"))
    other = refunding(19, "visa-3333", 7700, refund(2, 19, cents=7700, to="visa-3333", why="broken"))
    to_gift = refunding(19, "visa-3333", 7700, refund(2, 19, cents=7700, to="gift", why="broken"))

    def by_analogy(*passing: Trace, incident: Trace = INCIDENT) -> list[tuple[bool, Json]]:
        found = propose(incident, passing=passing)
        return [(check.gating, check.params["effects"]) for check in found if check.rule == "contrast:analogy"]

    due = {"name": "refund", "arguments": {"order": 17, "cents": 4200, "to": "visa-1111", "why": "broken"}}
    assert by_analogy(one, other) == [(False, [due])]
    assert by_analogy(one, to_gift) == []
    right = refunding(17, "visa-1111", 4200, refund(2, 17, cents=4200, to="visa-1111", why="broken"))
    assert by_analogy(one, incident=right) == []
    assert by_analogy(one, right) == []  # what was done about the same records says it itself
