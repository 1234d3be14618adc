"""Which of a model's answers tell something: the statements of a run, beside its calls.

Most of what an agent says prepares, asks, repeats or takes leave. An answer is none of these when it brings something:
words that nobody had said before, code, or facts that no call right after it holds too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit.canonical import Json
from evalkit.trace.effect import is_handover
from evalkit.trace.flow import leaves
from evalkit.trace.message import calls_in
from evalkit.trace.model import USER_MESSAGE, Step
from evalkit.trace.values import value_keys

__all__ = ["calls_of", "code_of", "last_word", "said", "statements"]

_WORD = re.compile(r"[^\W\d_]{4,}|\d[\d.,]*\d|\d|[\u3400-\u9fff]")
_QUESTION = re.compile(r"[?？]")
_CODE = "```"
_FEW_WORDS = 3
_NEW_SHARE = 0.1
_SHORT = 1000
_MOST = 0.4
_REMARK_WORDS = 12


def statements(steps: Sequence[Step]) -> set[int]:
    """The model steps whose text tells something.

    Left out are answers of hardly a word; that repeat (less than a tenth of their words are new in the run); that only
    ask; reports whose values stand in the changes just made; and proposals whose values stand in the changes after the
    user's next turn.
    """
    found: set[int] = set()
    heard: set[str] = set()
    for at, step in enumerate(steps):
        text = said(step)
        words = _words(text)
        if step.kind == "model" and _tells(steps, at, text, words, heard):
            found.add(step.seq)
        heard |= words
    return found


def said(step: Step) -> str:
    """The text of a Message; empty for anything else."""
    content = step.output.get("content") if isinstance(step.output, dict) else None
    return content.strip() if isinstance(content, str) else ""


def code_of(step: Step) -> str:
    """The blocks of code in a model's answer; empty where it has none."""
    text = said(step) if step.kind == "model" else ""
    return "".join(text.split(_CODE)[1::2])


def last_word(steps: Sequence[Step]) -> set[int]:
    """The last model answer that calls nothing and is more than a word: what the run came to, repeated or not."""
    for step in reversed(steps):
        if step.kind == "model" and not calls_of(step) and _is_said(said(step)):
            return {step.seq}
    return set()


def calls_of(step: Step) -> list[dict[str, Json]]:
    """The tool calls that a model's answer asks for."""
    return calls_in(step.output) if step.kind == "model" else []


def _tells(steps: Sequence[Step], at: int, text: str, words: set[str], heard: set[str]) -> bool:
    if calls_of(steps[at]):
        return len(words) > _REMARK_WORDS
    if not _is_said(text):
        return False
    if _CODE in text:
        return True
    if len(words - heard) < _NEW_SHARE * len(words):
        return False
    if len(text) <= _SHORT and _QUESTION.search(text) and not _facts(text):
        return False
    facts = _facts(text)
    reported = _share(facts, _written_before(steps, at)) == 1
    return not reported and _share(facts, _written_next(steps, at)) < _MOST


def _written_before(steps: Sequence[Step], at: int) -> set[str]:
    """The values of the writes since the user's last turn: what a report repeats."""
    held: set[str] = set()
    for step in reversed(steps[:at]):
        if step.name == USER_MESSAGE:
            break
        held |= _written(step)
    return held


def _written_next(steps: Sequence[Step], at: int) -> set[str]:
    """The values of the writes that followed the user's next turn: what a proposal announces."""
    held: set[str] = set()
    turns = 0
    for step in steps[at + 1 :]:
        if step.name == USER_MESSAGE:
            turns += 1
        elif step.kind == "model" and not calls_of(step):
            break
        elif turns:
            held |= _written(step)
    return held


def _written(step: Step) -> set[str]:
    if step.kind != "tool" or step.effect != "write" or step.error is not None or is_handover(step.name):
        return set()
    return {key for _, leaf in leaves([step.input, step.output]) for key in value_keys(leaf)}


def _share(facts: set[str], held: set[str]) -> float:
    return len(facts & held) / len(facts) if facts else 0.0


def _is_said(text: str) -> bool:
    return len(_words(text)) > _FEW_WORDS or bool(_facts(text))


def _facts(text: str) -> set[str]:
    return set(value_keys(text)) - {text.lower()}


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
