"""A case for people: ``case.md`` beside the Parquet file, so that a pull request shows what changed.

The text follows from the newest version alone; `evalkit check` fails when the file says something else.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalkit.canonical import Json, exact_text
from evalkit.case.model import Case
from evalkit.check.judge import sentence_of
from evalkit.percent import whole_percent
from evalkit.trace.model import Step
from evalkit.trace.visible import visible

__all__ = [
    "VIEW_NAME",
    "other_records_words",
    "plain_view",
    "pruning_words",
    "render_view",
    "volatile_words",
    "write_view",
]

VIEW_NAME = "case.md"
_SHORT = 300
_SIGNS = r"\`*_{}[]<>#+!|~"
_MARKS = re.compile(rf"(?P<fence>`+)(?P<code>.*?)(?<!`)(?P=fence)(?!`)|\\(?P<sign>[{re.escape(_SIGNS)}])|\*\*")
"""What Markdown alone needs: fences of code, backslashes before signs, bold. Foreign text has them escaped."""


def write_view(case: Case, root: str | Path, *, text: str | None = None) -> Path:
    """Writes the view of `case` into its folder: under a temporary name first, so that there is never half a view.

    Args:
        text: what `render_view` gave, where it was rendered already.
    """
    path = Path(root) / case.id / VIEW_NAME
    fresh = path.with_name(f".writing-{secrets.token_hex(8)}.md")
    try:
        fresh.write_text(render_view(case) if text is None else text, "utf-8")
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    return path


def render_view(case: Case) -> str:
    """The Markdown text."""
    return "\n".join([*_head(case), *_checks(case), *_path(case), *_dropped(case), *_life(case), ""])


def plain_view(case: Case) -> str:
    """The same for a terminal: as it reads, without what only Markdown needs; headings and lists stay."""
    return _MARKS.sub(_unmarked, render_view(case))


def _unmarked(mark: re.Match[str]) -> str:
    if mark["sign"] is not None:
        return mark["sign"]
    code = mark["code"] or ""
    padded = code.startswith(" ") and code.endswith(" ") and "`" in (code[1:2], code[-2:-1])
    return code[1:-1] if padded or code == "  " else code


def pruning_words(case: Case) -> str:
    """Whether pruning was verified, in words; empty in a case from before that was recorded."""
    found = case.pruning
    if not found:
        return ""
    if not found.get("verified"):
        return f"not verified: {found.get('why', '')}"
    widened = found.get("widened")
    wider = f", after the path was widened {'once' if widened == 1 else f'{widened} times'}" if widened else ""
    return f"verified by {found.get('how', 'replay')}{wider}"


def other_records_words(case: Case) -> list[str]:
    """Which healthy runs are about other records than the incident, and what follows."""
    told = case.source.get("other_records")
    return [
        f"healthy run {name} is about other records ({words}): what it changed and told is not demanded here"
        for name, words in (told.items() if isinstance(told, dict) else ())
    ]


def volatile_words(case: Case) -> list[str]:
    """Which arguments matching leaves out, and what was seen where they were learnt."""
    learnt = case.source.get("volatile")
    sentences = [str(one) for one in learnt] if isinstance(learnt, list) else []
    found = []
    for name, paths in sorted(case.volatile.items()):
        for path in paths:
            told = next((one for one in sentences if one.startswith(f"{path} of {name} ")), "")
            found.append(told or f"{path} of {name} is left out of matching")
    return found


def _head(case: Case) -> Iterator[str]:
    yield f"# {_text(case.title)}"
    yield ""
    yield f"- case: `{case.id}` version {case.version}"
    yield f"- state: **{case.state}**" + (" (a permanent gate: it blocks releases)" if case.permanent else "")
    yield f"- signature: {_code(case.signature)}"
    for label, value in (("target", case.target), ("owner", case.owner), ("incident", case.link)):
        if value:
            yield f"- {label}: {_code(value)}"
    if case.on_miss:
        rules = (f"{name} = {said}" for name, said in case.on_miss.items())
        yield f"- on a miss: {', '.join(_code(rule) for rule in rules)}"
    if case.tags:
        yield f"- tags: {', '.join(_code(tag) for tag in case.tags)}"
    record = case.trace.record
    hidden = ", ".join(f"{count} {kind}" for kind, count in sorted(record.counts.items())) or "nothing left to hide"
    yield f"- sanitized: policy {_code(record.policy_version)}: {hidden}"
    yield f"- evidence: {case.evidence:.2f}" + (f" ({len(case.incident.gaps)} gaps)" if case.incident.gaps else "")
    for gap in case.incident.gaps:
        yield f"  - {_text(gap)}"
    if case.closed:
        yield "- replay modes that it holds too little for:"
    for mode, reason in case.closed.items():
        yield f"  - {_code(mode)}: {_text(reason)}"
    for line in volatile_words(case):
        yield f"- volatile: {_text(line)}"
    for line in other_records_words(case):
        yield f"- {_text(line)}"
    if case.pruning:
        yield f"- pruning: {_text(pruning_words(case))}"
    yield ""


def _checks(case: Case) -> Iterator[str]:
    yield "## What must hold"
    yield ""
    for check in case.checks:
        sentence = sentence_of(check)
        kind = "" if check.gating else " (observation)"
        yield f"- {_text(sentence)}{kind}"
        sure = "" if check.confidence == 1.0 else f", {whole_percent(check.confidence)} sure"
        note = f", {_text(check.note)}" if check.note else ""
        yield f"  - {_code(check.id)}, from {_code(check.rule)}{sure}{note}"
    yield ""
    yield from _strength(case.strength)


def _strength(found: Mapping[str, Json]) -> Iterator[str]:
    if not found:
        return
    if "caught" not in found:
        yield "Strength: not measured since the checks were edited."
        yield ""
        return
    yield (
        f"On changed copies of the healthy runs they catch {found['caught']} of {found['faults']} small faults and "
        f"pass {found['passed']} of {found['variations']} harmless variations."
    )
    for label, key in (("not caught", "survivors"), ("blamed though harmless", "blamed")):
        said = found.get(key)
        for sentence in said if isinstance(said, list) else ():
            yield f"- {label}: {_text(str(sentence))}"
    yield ""


def _path(case: Case) -> Iterator[str]:
    yield "## What happened"
    yield ""
    yield f"- input: {_json(case.incident.input)}"
    on_path = set(case.kept)
    for step in case.incident.steps:
        if step.seq in on_path:
            yield from _step(step)
    yield f"- output: {_json(case.incident.output)}"
    if case.incident.error is not None:
        yield f"- ended with {_code(case.incident.error.type)}: {_text(case.incident.error.message)}"
    yield ""


def _step(step: Step) -> Iterator[str]:
    effect = f", {step.effect}" if step.effect else ""
    given = _latest(step.input) if step.kind == "model" else step.input
    yield f"- step {step.seq}: {step.kind} {_code(step.name)}{effect}"
    if given is not None:
        yield f"  - given {_json(given)}"
    if step.error is not None:
        yield f"  - failed with {_code(step.error.type)}: {_text(step.error.message)}"
    elif step.output is not None:
        yield f"  - gave {_json(step.output)}"


def _latest(given: Json) -> Json:
    """Of a model's input the turn that was added last; the rest stands above."""
    messages = given.get("messages") if isinstance(given, dict) else None
    return messages[-1:] if isinstance(messages, list) else given


def _dropped(case: Case) -> Iterator[str]:
    if not case.dropped:
        return
    yield "## What was left out"
    yield ""
    for drop in case.dropped:
        yield f"- step {drop.seq} ({drop.kind} {_code(drop.name)}): {_text(drop.reason)}"
    yield ""


def _life(case: Case) -> Iterator[str]:
    yield "## Life"
    yield ""
    for event in case.life:
        yield f"- {event.at}: {event.state}, by {_text(event.actor)}: {_text(event.reason)}"
        if event.proved:
            yield f"  - proved: {_text(event.proved)}"


def _json(value: Json) -> str:
    text = visible(exact_text(value).decode())
    return _code(text if len(text) <= _SHORT else f"{text[:_SHORT]}… ({len(text)} characters)")


def _code(text: str) -> str:
    """Text as a code span that its own backticks can't end."""
    shown = visible(text)
    runs = [len(run) for run in "".join(c if c == "`" else " " for c in shown).split()]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _text(text: str) -> str:
    """Text that can't become markup of any kind."""
    shown = visible(text)
    return "".join(f"\\{c}" if c in _SIGNS else c for c in shown)
