"""The JSON Schemas of ``verdicts.json`` and ``ab.json``, draft 2020-12, made from the dataclasses that are written.

Keys are only ever added to the files, so that readers must allow others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.report import ab_data, data
from evalkit.report.ab_data import ABOrigin
from evalkit.report.described import add_properties, object_of, schema_of
from evalkit.verdict.ab import METRICS, ABVerdict, ArmOfCase, CasePair, Loss, MetricChange, RateChange
from evalkit.verdict.model import BaselineRow, CaseVerdict, Decision, Estimate, ManyRuns, SuiteEffect

__all__ = ["ab_schema", "verdicts_schema"]

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT = {"type": "integer", "minimum": 0}
_RATED = {
    "n": {**_COUNT, "description": "samples that enter the rate"},
    "rate": {"anyOf": [_SHARE, {"type": "null"}], "description": "share of them that passed; null without any"},
}
_SAVINGS = {
    "samples": "all that were taken",
    "samples_fixed": "what would have been taken without stopping early; of a case that is not decided, what was taken",
    "model_calls": "live model calls that were made",
    "model_calls_saved": "live model calls that stopping early saved, about; below 0 where it took more",
}


def verdicts_schema() -> dict[str, Any]:
    """What a run came to."""
    decision, definitions = schema_of(Decision)
    case, more = schema_of(CaseVerdict, BaselineRow, ManyRuns, Estimate)
    add_properties(case, {**_RATED, "samples": {**_COUNT, "description": "all of them, lost ones too"}})
    effect, _ = schema_of(SuiteEffect)
    # An infinite bound is written as null.
    effect["properties"]["cases_like_these"]["prefixItems"] = [{"type": ["number", "null"]}] * 2
    definitions |= more | {"SuiteEffect": effect}
    properties = {
        "decision": decision,
        "effect": {
            "anyOf": [{"$ref": "#/$defs/SuiteEffect"}, {"type": "null"}],
            "description": "the suite against its baseline; null without one",
        },
        "savings": object_of(
            {
                name: {**({"type": "integer"} if name == "model_calls_saved" else _COUNT), "description": text}
                for name, text in _SAVINGS.items()
            },
            "what stopping early saved",
        ),
        "notices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what a reader of the numbers should know, a sentence each",
        },
        "cases": {"type": "array", "items": case, "description": "in the order of the run"},
    }
    told = "What a run came to: the release decision, and a verdict a case."
    return _file("verdicts-1.json", data.SCHEMA, "evalkit verdicts", told, properties, definitions)


def ab_schema() -> dict[str, Any]:
    """What two arms came to."""
    verdict, definitions = schema_of(ABVerdict, ArmOfCase, CasePair, Loss, MetricChange, RateChange)
    found = verdict["properties"]
    origin = schema_of(ABOrigin)[0]["properties"]
    add_properties(definitions["ArmOfCase"], _RATED)
    add_properties(definitions["Loss"], {"share": {**_SHARE, "description": "lost samples as a share of all"}})
    add_properties(definitions["RateChange"], {"difference": {"type": "number", "description": "b less a"}})
    change = {"$ref": "#/$defs/MetricChange"}
    properties = {
        "folder": origin["folder"],
        "runs": object_of({"a": origin["run_a"], "b": origin["run_b"]}, "the folders of the arms' runs"),
        "interleaved": origin["interleaved"],
        "stopped": origin["stopped"],
        "arms": object_of({"a": found["a"], "b": found["b"]}, "what the arms are, in words"),
        **{name: found[name] for name in ("sentence", "better", "primary", "alpha", "deterministic")},
        "pass_rate": found["rate"],
        "metrics": object_of(
            {metric: change for metric in METRICS if metric != "pass_rate"}, "the other metrics, compared or not"
        ),
        "lost": object_of(
            {"a": found["loss_a"], "b": found["loss_b"], "unequal": found["unequal_loss"]},
            "samples that entered nothing, over all cases of an arm",
        ),
        "notes": found["notes"],
        "cases": found["pairs"],
    }
    told = "What two arms came to, over all cases and case by case. Differences are b less a, rates shares from 0 to 1."
    return _file("ab-1.json", ab_data.SCHEMA, "evalkit A/B", told, properties, definitions)


def _file(
    name: str, schema: str, title: str, told: str, properties: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        "description": told,
        "type": "object",
        "required": ["schema", *properties],
        "properties": {"schema": {"const": schema}, **properties},
        "$defs": dict(definitions),
    }
