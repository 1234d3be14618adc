"""Counterfactuals: what if the approval had been refused, the policy another, the retriever another.

An answerer around the frozen one that answers the retrievals, policies and approvals of a name otherwise than recorded:
by a verdict, by a given value, or by a function that is really called, in the frozen world. Each such step says so
(attribute ``what_if``). What the agent asks from there on is answered from the recording, or is a miss.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.canonical import Json
from evalkit.capture.dependencies import RETURNED, answer_of
from evalkit.capture.seam import NOWHERE, Answer, Answerer, Call, Real, error_of
from evalkit.errors import ConfigError
from evalkit.playback.targets.python import PythonTarget
from evalkit.trace.approval import decided_otherwise
from evalkit.trace.model import Step

__all__ = ["WHAT_IF", "Supposing", "WhatIf", "parse_what_if", "settled", "texts_of_table"]

WHAT_IF = "what_if"
"""The attribute of a step that was answered otherwise than recorded: by what."""
_KINDS = ("retrieval", "policy", "approval")
_VERDICTS = {"approved": True, "allowed": True, "refused": False, "denied": False}
_FORM = "--what-if confirm=refused, --what-if 'policy={\"allowed\": false}', NAME=@file.json or NAME=module:function"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One counterfactual.

    Attributes:
        name: glob pattern of names of retrievals, policies and approvals.
        then: as it was stated: ``approved``, ``allowed``, ``refused`` or ``denied``, a JSON value, the path of a file
            with one after ``@``, or ``module:function``.
        verdict: of an approval or a policy, in the form that its recorded answer has; None where it is no verdict.
        value: what is given instead.
        function: what is called instead, with the call's arguments as a target is with a case's input.
    """

    name: str
    then: str
    verdict: bool | None = None
    value: Json = None
    function: Callable[[Json], Json] | None = field(default=None, compare=False)

    def meets(self, call: Call) -> bool:
        """Whether it is about such calls."""
        return call.kind in _KINDS and fnmatch.fnmatchcase(call.name, self.name)

    def json(self) -> Json:
        """For the manifest."""
        return {"name": self.name, "then": self.then}


def parse_what_if(text: str) -> WhatIf:
    """The counterfactual that a flag states.

    Raises:
        ConfigError: it is of no known form, or the file or function can't be read.
    """
    name, then = _parts(text)
    if then in _VERDICTS:
        return WhatIf(name, then, verdict=_VERDICTS[then])
    if _names_function(then):
        return WhatIf(name, then, function=PythonTarget(then).run)
    return WhatIf(name, then, value=_value(then, f"what if {text!r}"))


def settled(text: str) -> str:
    """A stated counterfactual that hangs on no file: what the file holds in place of its path. Functions stay names.

    Raises:
        ConfigError: it is of no known form, or the file can't be read.
    """
    name, then = _parts(text)
    if then in _VERDICTS or _names_function(then):
        return f"{name}={then}"
    return f"{name}={json.dumps(_value(then, f'what if {text!r}'), ensure_ascii=False)}"


def texts_of_table(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The counterfactuals of a table ``{"confirm": "refused", "policy": {"allowed": False}}``, as flags state them.

    Raises:
        ConfigError: a value is no JSON.
    """
    try:
        return tuple(
            f"{name}={then if isinstance(then, str) else json.dumps(then, ensure_ascii=False)}"
            for name, then in table.items()
        )
    except TypeError as error:
        raise ConfigError(f"what_if: {error}", where, _FORM) from None


class Supposing:
    """Wraps the answerer of one replay.

    Args:
        recorded: the case's steps, whose answers tell the form of a verdict.

    Attributes:
        met: how many calls each counterfactual answered, by its text.
    """

    def __init__(self, inner: Answerer, what_if: Sequence[WhatIf], recorded: Sequence[Step]) -> None:
        self._inner = inner
        self._what_if = what_if
        self._recorded = recorded
        self.met: Counter[str] = Counter()

    def answer(self, call: Call) -> Answer | Real | None:
        """The counterfactual answer, or the inner one; raises what the inner one raises."""
        one = next((one for one in self._what_if if one.meets(call)), None)
        if one is None:
            return self._inner.answer(call)
        self.met[f"{one.name}={one.then}"] += 1
        answer = self._answer(one, call)
        answer.substituted = True
        answer.attributes = {**answer.attributes, WHAT_IF: one.then}
        return answer

    def _answer(self, one: WhatIf, call: Call) -> Answer:
        if one.function is not None:
            try:
                with NOWHERE.taken():  # what it calls is no part of the agent's run
                    return answer_of(call.kind, one.function(call.arguments))
            except Exception as error:  # noqa: BLE001  # as a policy of the agent's own would
                return Answer(error=error_of(error))
        if one.verdict is None:
            return answer_of(call.kind, one.value)
        return answer_of(call.kind, decided_otherwise(self._said(call), approved=one.verdict))

    def _said(self, call: Call) -> Json:
        """What a call of the name was answered in the recording; None where there is none."""
        for step in self._recorded:
            if (step.kind, step.name) == (call.kind, call.name) and step.error is None:
                found: Any = step.attributes.get(RETURNED, step.output)
                return found  # type: ignore[no-any-return]  # JSON
        return None


def _parts(text: str) -> tuple[str, str]:
    """Name and answer."""
    name, equals, then = text.partition("=")
    name, then = name.strip(), then.strip()
    if not (name and equals and then):
        raise ConfigError("a counterfactual is NAME=THEN", f"what if {text!r}", _FORM)
    return name, then


def _names_function(then: str) -> bool:
    module, colon, function = then.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))


def _value(then: str, where: str) -> Json:
    """The value that a JSON text states, or a file's after ``@``."""
    if then.startswith("@"):
        then, where = _text_of(then[1:]), then
    try:
        found: Json = json.loads(then)
    except ValueError as error:
        raise ConfigError(f"neither a verdict, nor JSON, nor module:function ({error})", where, _FORM) from None
    return found


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", path, "correct the path") from None
