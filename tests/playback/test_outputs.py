"""What a replayed agent says and calls is sanitized before anyone keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evalkit.capture.tools import tool
from evalkit.case.model import Case
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.protocol import TARGETS
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace
from tests.build import a_case

KEY = b"outputs test key, 32 bytes......"
MAIL = "support.desk7@acme-travel.com"
"""A constant in the agent's own code: raw in every replay, a surrogate in the case."""


def new_sanitizer() -> Sanitizer:
    """The project's."""
    return Sanitizer(Policy(), KEY)


def case_of(call: dict[str, Any]) -> Case:
    """A case whose one tool call had `call` as arguments."""
    trace = Trace(
        "t", "desk", "evalkit", (Step(0, "tool", "send_mail", call, {"sent": True}, effect="write"),), input="go"
    )
    return replace(a_case(), trace=new_sanitizer().sanitize([trace])[0], checks=())


@tool
def send_mail(**arguments: Any) -> dict[str, Any]:
    """Never runs in a replay."""
    raise AssertionError("a tool's body ran in a replay")


def replayed(case: Case, agent: Callable[[Any], Any]) -> Replay:
    """One replay."""
    prepared = prepare(case, sanitizer=new_sanitizer)
    return prepared.replay(TARGETS.get("python")(agent))


def test_a_raw_constant_meets_the_recorded_call() -> None:
    """Arguments that no fixture has as they are are sanitized and find it; the kept trace has the surrogate."""
    done = replayed(case_of({"to": MAIL}), lambda _: send_mail(to=MAIL))
    assert done.misses == ()
    assert MAIL not in done.text.decode()
    assert MAIL not in repr(done.trace)


def test_what_an_agent_says_is_not_kept_raw() -> None:
    """Outputs, errors and arguments of misses: whatever would reach a journal, a report or a terminal."""
    case = case_of({"to": "x"})
    said = replayed(case, lambda _: {"text": f"write to {MAIL}"})
    assert MAIL not in repr(said)

    def fails(_: Any) -> Any:
        raise ValueError(f"no mailbox {MAIL}")

    failed = replayed(case, fails)
    assert MAIL not in repr(failed)
    missed = replayed(case, lambda _: send_mail(to=MAIL, cc="y"))
    assert missed.status == "missed"
    assert MAIL not in repr(missed)


def test_equal_replays_stay_equal() -> None:
    """The same raw value gives the same text and digest in every replay."""
    prepared = prepare(case_of({"to": "x"}), sanitizer=new_sanitizer)
    target = TARGETS.get("python")(lambda _: {"text": f"write to {MAIL}"})
    with prepared.entered(target) as day:
        first, second = day.replay(target, 0), day.replay(target, 1)
    assert first.digest == second.digest
    assert first.trace.id != second.trace.id


def test_what_the_case_holds_is_left_as_it_is() -> None:
    """A replay that says only what the case says is kept to the letter, and no sanitizer is made."""

    def none() -> Sanitizer:
        raise AssertionError("a sanitizer was made")

    case = case_of({"to": "x"})
    done = prepare(case, sanitizer=none).replay(TARGETS.get("python")(lambda _: send_mail(to="x")))
    assert done.misses == ()
