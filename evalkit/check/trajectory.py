"""Which calls the agent makes as a whole: the tools it may use, and the way it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, texts
from evalkit.check.view import agent_calls, contains, shown
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace

__all__ = ["ONLY_TOOLS", "TRAJECTORY"]

_MODES: dict[str, str] = {
    "strict": "makes exactly these calls in this order",
    "in_order": "makes these calls in this order, others may come between",
    "any_order": "makes exactly these calls in any order",
    "subset": "makes no calls but these",
    "superset": "makes at least these calls",
}


class OnlyTools:
    """The agent calls no tool but ``names``."""

    name = "only_tools"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The agent calls no other tool than {', '.join(params.get('names') or []) or 'none'}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Looks for another name; a call that failed was still made."""
        known_only(params, self.name, "names")
        if "names" not in params:
            raise InputError("names is missing", f"check {self.name}", '"names": ["search"]')
        names = frozenset(texts(params, "names", self.name))

        def judge(trace: Trace) -> Finding:
            others = [step for step in agent_calls(trace) if step.name not in names]
            if not others:
                return Finding(True, "no other tool was called")
            said = ", ".join(dict.fromkeys(step.name for step in others))
            return Finding(False, f"called {said} as well", tuple(step.seq for step in others))

        return judge


class Trajectory:
    """The agent's calls are ``calls``: tools' names, or ``{"name", "arguments"}`` with a subset of the arguments.

    ``mode`` is ``in_order`` (default: each occurs in this order, others may come between), ``strict`` (these and no
    others, in this order), ``any_order`` (these and no others), ``subset`` (none but these, each as often as it stands
    there or less) or ``superset`` (at least these). The modes are those of LangChain's agentevals and Google's ADK.
    """

    name = "trajectory"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        calls = ", ".join(_told(one) for one in params.get("calls") or [])
        return f"The agent {_MODES.get(str(params.get('mode', 'in_order')), 'makes these calls')}: {calls}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Reads the calls once."""
        known_only(params, self.name, "calls", "mode")
        mode = params.get("mode", "in_order")
        if mode not in _MODES:
            raise InputError(f"mode is {mode!r}", f"check {self.name}", f"use one of: {', '.join(_MODES)}")
        calls = params.get("calls")
        if not isinstance(calls, list) or not calls:
            raise InputError("calls is no list of calls", f"check {self.name}", '"calls": ["search", {"name": "pay"}]')
        wanted = [_call(one) for one in calls]

        def judge(trace: Trace) -> Finding:
            made = list(agent_calls(trace))
            missing, extra = _compared(wanted, made, mode)
            if not missing and not extra:
                return Finding(True, "the calls are as stated", tuple(step.seq for step in made))
            told = [f"missing: {', '.join(_told(wanted_call) for wanted_call in missing)}"] if missing else []
            told += [f"not stated: {', '.join(step.name for step in extra[:5])}"] if extra else []
            return Finding(False, "; ".join(told), tuple(step.seq for step in extra))

        return judge


def _compared(
    wanted: Sequence[Mapping[str, Any]], made: Sequence[Step], mode: str
) -> tuple[list[Mapping[str, Any]], list[Step]]:
    """The stated calls that were not made, and the made ones that were not stated, as far as the mode minds them."""
    if mode in ("strict", "in_order"):
        missing, extra = _in_order(wanted, made)
        return missing, extra if mode == "strict" else []
    pairs = _paired(wanted, made)
    missing = [call for at, call in enumerate(wanted) if at not in pairs]
    extra = [step for at, step in enumerate(made) if at not in pairs.values()]
    return [] if mode == "subset" else missing, [] if mode == "superset" else extra


def _in_order(wanted: Sequence[Mapping[str, Any]], made: Sequence[Step]) -> tuple[list[Mapping[str, Any]], list[Step]]:
    """Takes each stated call at its first place after the one before it."""
    at, extra = 0, []
    for step in made:
        if at < len(wanted) and _is_call(step, wanted[at]):
            at += 1
        else:
            extra.append(step)
    return list(wanted[at:]), extra


def _paired(wanted: Sequence[Mapping[str, Any]], made: Sequence[Step]) -> dict[int, int]:
    """A largest pairing of stated with made calls (augmenting paths): a loose statement takes no strict one's call."""
    fits = [[at for at, step in enumerate(made) if _is_call(step, call)] for call in wanted]
    taken: dict[int, int] = {}

    def place(call: int, tried: set[int]) -> bool:
        for at in fits[call]:
            if at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = call
                    return True
        return False

    for call in range(len(wanted)):
        place(call, set())
    return {call: at for at, call in taken.items()}


def _is_call(step: Step, call: Mapping[str, Any]) -> bool:
    return step.name == call["name"] and contains(step.input, call["arguments"])


def _call(body: Any) -> dict[str, Any]:
    if isinstance(body, str) and body:
        return {"name": body, "arguments": {}}
    if (
        isinstance(body, dict)
        and isinstance(body.get("name"), str)
        and isinstance(body.get("arguments", {}), dict)
        and not set(body) - {"name", "arguments"}
    ):
        return {"name": body["name"], "arguments": body.get("arguments", {})}
    raise InputError(
        f"{body!r} is no call", "check trajectory", 'write a tool\'s name, or {"name": ..., "arguments": {}}'
    )


def _told(body: Any) -> str:
    if isinstance(body, dict):
        return f"{body.get('name')}({shown(body['arguments'])})" if body.get("arguments") else str(body.get("name"))
    return str(body)


ONLY_TOOLS = OnlyTools()
TRAJECTORY = Trajectory()
