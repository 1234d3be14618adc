"""Declared faults: an answerer around the frozen one that, at a rate, gives errors in place of recorded answers.

Whether a call meets a fault follows from the fault's seed, the case, the sample, the call and how often it was made, so
that it does not depend on the order of parallel calls. The step says which fault it met (attribute ``fault``).
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json, exact_text
from evalkit.capture.dependencies import RETURNED, answer_of
from evalkit.capture.seam import Answer, Answerer, Call, Real
from evalkit.errors import ConfigError
from evalkit.trace.model import StepError

__all__ = ["FAULT", "Fault", "FaultKind", "Faulty", "check_faults", "fault_text", "parse_fault"]

FaultKind: TypeAlias = Literal["error", "timeout", "delay", "wrong_value", "partial_stream"]
KINDS: tuple[str, ...] = get_args(FaultKind)
FAULT = "fault"
"""The attribute of a step that met a fault."""
MODEL = "chat"
"""The name under which a fault is declared for model calls; no pattern matches it."""

_FORM = "--fault 'tool=refund_*,kind=error,rate=0.3,seed=7'"
_CUT = "the connection was closed before the answer was complete"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault for some calls.

    Attributes:
        tool: glob pattern of tool, retrieval, policy and approval names; ``chat`` for model calls.
        kind: ``error`` and ``timeout``: no answer comes, and the recorded one is left for the next try;
            ``delay``: it comes `seconds` later on the replay's clock; ``wrong_value``: it comes with one value changed;
            ``partial_stream``: only its first half comes.
        rate: share of calls that meet it, 0 to 1.
        seconds: length of a delay, or of the wait for a timeout.
        value: what a wrong value is; None changes one of the recorded answer's.
    """

    tool: str
    kind: FaultKind
    rate: float = 1.0
    seed: int = 0
    seconds: float = 30.0
    value: Json = None

    def meets(self, call: Call) -> bool:
        """Whether the fault is declared for such calls."""
        if call.kind == "model":
            return self.tool == MODEL
        return call.kind != "agent" and fnmatch.fnmatchcase(call.name, self.tool)


def parse_fault(text: str) -> Fault:
    """The fault that a flag declares: ``key=value`` with commas between them; `value` is JSON and comes last.

    Raises:
        ConfigError: an unknown or missing key, or a value out of range.
    """
    head, has_value, value = text.partition(",value=")
    pairs = [part.partition("=") for part in head.split(",")]
    given = {key.strip(): raw.strip() for key, _, raw in pairs}
    if unknown := sorted(set(given) - {"tool", "kind", "rate", "seed", "seconds"}):
        raise ConfigError(f"a fault has no {', '.join(map(repr, unknown))}", f"fault {text!r}", _FORM)
    if absent := [key for key in ("tool", "kind") if not given.get(key)]:
        raise ConfigError(f"a fault needs {' and '.join(absent)}", f"fault {text!r}", _FORM)
    if given["kind"] not in KINDS:
        raise ConfigError(f"no kind of fault is {given['kind']!r}", f"fault {text!r}", f"one of {', '.join(KINDS)}")
    try:
        rate, seconds = float(given.get("rate", 1)), float(given.get("seconds", 30))
        seed, wrong = int(given.get("seed", 0)), json.loads(value) if has_value else None
    except ValueError as error:
        raise ConfigError(f"not a number, or value is no JSON: {error}", f"fault {text!r}", _FORM) from None
    if not 0 <= rate <= 1 or not 0 <= seconds <= 1e7:
        raise ConfigError("rate is from 0 to 1, seconds from 0 to 10,000,000", f"fault {text!r}", _FORM)
    return Fault(given["tool"], given["kind"], rate, seed, seconds, wrong)  # type: ignore[arg-type]  # checked above


def fault_text(body: Mapping[str, Json]) -> str:
    """A fault, as the JSON that a suite has, in the form that `parse_fault` reads."""
    keys = ("tool", "kind", "rate", "seed", "seconds")
    pairs = [f"{key}={body[key]}" for key in keys if body.get(key) is not None]
    return ",".join(pairs + ([f"value={json.dumps(body['value'])}"] if body.get("value") is not None else []))


def check_faults(faults: Sequence[Fault], *, live: bool) -> None:
    """Refuses what can't be done to a live model.

    Raises:
        ConfigError: a fault would have to change an answer that no recording holds.
    """
    for fault in faults:
        if live and fault.tool == MODEL and fault.kind not in ("error", "timeout"):
            raise ConfigError(
                f"fault {fault.kind} changes a recorded answer, and the model is live",
                f"fault of {MODEL}",
                "use kind=error or kind=timeout, or leave --base-url out",
            )


class Faulty:
    """Wraps the answerer of one replay.

    Args:
        sample: names the case and sample, for the draws.
        now, advance: the replay's clock.

    Attributes:
        met: the faults met so far, in words.
    """

    def __init__(
        self,
        inner: Answerer,
        faults: Sequence[Fault],
        sample: str,
        now: Callable[[], float],
        advance: Callable[[float], None],
    ) -> None:
        self._inner = inner
        self._faults = faults
        self._sample = sample
        self._now = now
        self._advance = advance
        self._asked: Counter[bytes] = Counter()
        self._calls = 0
        self.met: list[str] = []

    def answer(self, call: Call) -> Answer | Real | None:
        """The inner answer, or what a fault makes of it; raises what the inner one raises."""
        self._calls += 1
        fault = self._drawn(call)
        if fault is None:
            return self._inner.answer(call)
        if fault.kind in ("error", "timeout"):
            return self._noted(fault, call, _failing(fault, call))
        answer = self._inner.answer(call)
        if not isinstance(answer, Answer) or (answer.error is not None and fault.kind != "delay"):
            return answer  # nothing recorded to change
        if fault.kind == "wrong_value":
            given = answer.attributes.get(RETURNED, answer.output)
            answer = _with_value(answer, call, _wrong(fault, given, call))
        elif fault.kind == "partial_stream":
            answer = _partial(answer, call)
        return self._noted(fault, call, answer)

    def _drawn(self, call: Call) -> Fault | None:
        at_hand = [(at, fault) for at, fault in enumerate(self._faults) if fault.meets(call)]
        if not at_hand:
            return None
        key = repr((call.kind, call.name, call.arguments)).encode("utf-8", "replace")
        self._asked[key] += 1
        for at, fault in at_hand:
            text = f"{fault.seed}/{at}/{self._sample}/{self._asked[key]}/".encode() + key
            if int.from_bytes(hashlib.sha256(text).digest()[:7], "big") / 2**56 < fault.rate:
                return fault
        return None

    def _noted(self, fault: Fault, call: Call, answer: Answer) -> Answer:
        if fault.kind in ("delay", "timeout"):
            at = self._now() + fault.seconds
            self._advance(at)
            answer = replace(answer, at=at)
        self.met.append(f"{fault.kind} in {call.name} (call {self._calls})")
        told: dict[str, Any] = {key: value for key, value in asdict(fault).items() if value is not None}
        return replace(answer, substituted=True, attributes={**answer.attributes, FAULT: told})


def _failing(fault: Fault, call: Call) -> Answer:
    late = fault.kind == "timeout"
    words = f"injected fault: no answer within {fault.seconds:g} s" if late else "injected fault: it failed"
    if call.kind != "model":
        return Answer(error=StepError("TimeoutError" if late else "RuntimeError", words, "builtins"))
    if late:
        return Answer(error=StepError("ReadTimeout", words, "httpx"))
    return Answer(error=StepError("InternalServerError", words), attributes={"status": 500})


def _partial(answer: Answer, call: Call) -> Answer:
    if call.kind != "model":
        given = answer.attributes.get(RETURNED, answer.output)
        if isinstance(given, str | list):
            return _with_value(answer, call, given[: len(given) // 2])
        return replace(answer, output=None, error=StepError("ConnectionResetError", _CUT, "builtins"))
    content = answer.output.get("content") if isinstance(answer.output, dict) else None
    half = content[: len(content) // 2] if isinstance(content, str) else None
    kept = {key: value for key, value in answer.attributes.items() if key != "extra"}
    return replace(
        answer,
        output={"role": "assistant", "content": half},
        error=StepError("RemoteProtocolError", _CUT, "httpx"),
        attributes={**kept, "status": 200, "ended": "raised"},
    )


def _with_value(answer: Answer, call: Call, value: Json) -> Answer:
    """The answer with another value; where the agent gets it in a form of its own, in that form."""
    if RETURNED not in answer.attributes:
        return replace(answer, output=value)
    other = answer_of(call.kind, value)
    rest = {key: each for key, each in answer.attributes.items() if key != RETURNED}
    return replace(answer, output=other.output, attributes={**rest, **other.attributes})


def _wrong(fault: Fault, output: Json, call: Call) -> Json:
    if fault.value is not None:
        return fault.value
    if call.kind == "model" and isinstance(output, dict):
        return {**output, "content": "injected fault: a wrong answer", "tool_calls": []}
    leaves = list(_leaves(output, ()))
    if not leaves:
        return "injected fault: a wrong value"
    drawn = hashlib.sha256(f"{fault.seed}/".encode() + exact_text([output])).digest()
    path = leaves[int.from_bytes(drawn[:4], "big") % len(leaves)]
    return _changed(output, path)


def _leaves(value: Json, path: tuple[Any, ...]) -> Any:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if children is None:
        yield path
        return
    for key, child in children:
        yield from _leaves(child, (*path, key))


def _changed(value: Any, path: tuple[Any, ...]) -> Json:
    if path:
        copied = dict(value) if isinstance(value, dict) else list(value)
        copied[path[0]] = _changed(value[path[0]], path[1:])
        return copied
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 10 + 1
    return f"{value} (wrong)" if isinstance(value, str) else "wrong"
