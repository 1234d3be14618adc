"""A case as YAML, to be read: what must hold in words, the steps on the path, its life. It is not read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import FIXTURE_OF, Case
from evalkit.case.view import pruning_words, volatile_words
from evalkit.check.judge import sentence_of
from evalkit.check.model import Check
from evalkit.errors import MissingExtra
from evalkit.trace.model import Step

__all__ = ["render_yaml"]

_HEAD = "# The case {id}@{version}, for reading: the Parquet file is the case, and evalkit does not read this one.\n"
_WIDTH = 110


def render_yaml(case: Case) -> str:
    """The YAML text.

    Raises:
        MissingExtra: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtra("YAML needs PyYAML", "export --yaml", 'pip install "evalkit[yaml]"') from None

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as such."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    Dumper.ignore_aliases = lambda *_: True  # type: ignore[method-assign]  # an anchor is no reading matter
    body = yaml.dump(_body(case), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return _HEAD.format(id=case.id, version=case.version) + str(body)


def _body(case: Case) -> dict[str, Any]:
    incident = case.incident
    facts: dict[str, Json] = {
        "case": case.id,
        "version": case.version,
        "state": case.state,
        "title": case.title,
        "signature": case.signature,
        "target": case.target,
        "owner": case.owner,
        "link": case.link,
        "tags": list(case.tags),
        "volatile": list(volatile_words(case)),
        "on_miss": dict(case.on_miss),
        "closed": dict(case.closed),
        "pruning": pruning_words(case),
    }
    return {
        **{name: value for name, value in facts.items() if value not in ("", [], {})},
        "must_hold": [_check(check) for check in case.checks if check.gating],
        "observed": [_check(check) for check in case.checks if not check.gating],
        "input": incident.input,
        "steps": [_step(step) for step in incident.steps if step.seq in case.kept],
        "output": incident.output,
        "further_answers": [_step(step) for step in incident.steps if step.seq not in case.kept],
        "dropped": [f"{one.seq} {one.kind} {one.name}: {one.reason}" for one in case.dropped],
        "life": [{name: value for name, value in asdict(event).items() if value} for event in case.life],
    }


def _check(check: Check) -> dict[str, Json]:
    found: dict[str, Json] = {"says": sentence_of(check), "check": check.type, "params": dict(check.params)}
    found["from"] = check.rule
    if check.evidence:
        found["seen_in_steps"] = list(check.evidence)
    if check.note:
        found["note"] = check.note
    return found


def _step(step: Step) -> dict[str, Json]:
    return dict(_facts(step))


def _facts(step: Step) -> Iterator[tuple[str, Json]]:
    yield "step", step.seq
    yield step.kind, step.name
    if step.effect is not None:
        yield "effect", step.effect
    if step.attributes.get(FIXTURE_OF):
        yield "from_healthy_run", step.attributes[FIXTURE_OF]
    yield "input", step.input
    if step.error is not None:
        yield "error", f"{step.error.type}: {step.error.message}"
    else:
        yield "output", step.output
