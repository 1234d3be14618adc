"""``verdicts.json``: the verdicts and the decision for machines. Keys are stable: they are only ever added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson

from evalkit.errors import InputError
from evalkit.verdict.model import BaselineRow, CaseVerdict, Decision, Estimate, ManyRuns, SuiteEffect
from evalkit.verdict.verdicts import distinct

__all__ = ["SCHEMA", "savings", "verdicts_from_json", "verdicts_json"]

SCHEMA = "evalkit.verdicts/1"


def verdicts_json(
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
    effect: SuiteEffect | None = None,
    notices: Sequence[str] = (),
) -> Iterator[bytes]:
    """The file: ``schema``, ``decision``, ``effect`` (the suite against its baseline), ``savings``, ``notices``,
    and ``cases`` in the order of the run; `n`, `rate` and `samples` are added to each. In parts: it may be large.
    """
    body = {
        "schema": SCHEMA,
        "decision": decision,
        "effect": effect,
        "savings": savings(verdicts),
        "notices": list(notices),
        "cases": [],
    }
    yield orjson.dumps(body, option=orjson.OPT_INDENT_2).removesuffix(b"]\n}")
    before = b"\n    "
    for verdict in verdicts:
        case = {**_fields(verdict), "n": verdict.n, "rate": verdict.rate, "samples": verdict.samples}
        yield before + orjson.dumps(case, option=orjson.OPT_INDENT_2).replace(b"\n", b"\n    ")  # no text holds one
        before = b",\n    "
    yield b"\n  ]\n}\n" if verdicts else b"]\n}\n"


def savings(verdicts: Sequence[CaseVerdict]) -> dict[str, int]:
    """Samples taken, those without early stopping, and the live model calls that the difference would have made."""
    found = dict.fromkeys(("samples", "samples_fixed", "model_calls", "model_calls_saved"), 0)
    for verdict, cases in distinct(verdicts):
        found["samples"] += cases * verdict.samples
        found["samples_fixed"] += cases * (verdict.samples + verdict.samples_saved)
        found["model_calls"] += cases * verdict.model_calls
        found["model_calls_saved"] += cases * verdict.calls_saved
    return found


def verdicts_from_json(text: str | bytes, where: str = "") -> tuple[list[CaseVerdict], Decision]:
    """What `verdicts_json` wrote.

    Raises:
        InputError: another schema, or a field is missing or unknown.
    """
    try:
        body = orjson.loads(text)
        if body["schema"] != SCHEMA:
            raise InputError(f"schema {body['schema']!r}, wanted {SCHEMA!r}", where, "evalkit report RUN")
        return [_verdict(case) for case in body["cases"]], _decision(body["decision"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"not the verdicts of a run: {error!r}", where, "evalkit report RUN") from None


def _fields(verdict: CaseVerdict) -> dict[str, Any]:
    """The fields as they are: orjson writes the dataclasses inside of them itself."""
    return {field.name: getattr(verdict, field.name) for field in fields(CaseVerdict)}


def _verdict(body: Mapping[str, Any]) -> CaseVerdict:
    own = {key: value for key, value in body.items() if key not in ("n", "rate", "samples")}
    own["baseline"] = None if own["baseline"] is None else BaselineRow(**_estimated(own["baseline"]))
    own["failing_checks"] = tuple((check, sentence, count) for check, sentence, count in own["failing_checks"])
    own["tags"] = tuple(own["tags"])
    own["steps"] = tuple(tuple(counts) for counts in own.get("steps", ()))  # files from before it was told lack it
    own["many_runs"] = tuple(ManyRuns(**one) for one in own["many_runs"])
    return CaseVerdict(**_estimated(own))


def _estimated(body: Mapping[str, Any]) -> dict[str, Any]:
    found = body.get("estimate")  # files from before it was told lack it
    return {**body, "estimate": None if found is None else Estimate(**found)}


def _decision(body: Mapping[str, Any]) -> Decision:
    return Decision(
        body["outcome"],
        body["reason"],
        tuple((case_id, sentence) for case_id, sentence in body["blocking"]),
        tuple((case_id, sentence) for case_id, sentence in body["inconclusive"]),
    )
