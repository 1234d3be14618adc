"""Which check types there are. A new one is a class, a line here, and a test."""

from __future__ import annotations

from evalkit.check.model import CheckType
from evalkit.registry import Registry

__all__ = ["CHECKS"]

CHECKS: Registry[CheckType] = Registry(
    "check",
    "evalkit.checks",
    {
        "called": "evalkit.check.calls:CALLED",
        "not_called": "evalkit.check.calls:NOT_CALLED",
        "only_tools": "evalkit.check.trajectory:ONLY_TOOLS",
        "trajectory": "evalkit.check.trajectory:TRAJECTORY",
        "arguments": "evalkit.check.arguments:ARGUMENTS",
        "order": "evalkit.check.calls:ORDER",
        "effects_equal": "evalkit.check.effects:EFFECTS_EQUAL",
        "repeated_effect": "evalkit.check.repeated:REPEATED_EFFECT",
        "arguments_grounded": "evalkit.check.grounding:ARGUMENTS_GROUNDED",
        "approved": "evalkit.check.authority:APPROVED",
        "policy_kept": "evalkit.check.authority:POLICY_KEPT",
        "unknown_retry": "evalkit.check.unknown:UNKNOWN_RETRY",
        "output_fields": "evalkit.check.output:OUTPUT_FIELDS",
        "output_contains": "evalkit.check.output:OUTPUT_CONTAINS",
        "output_matches": "evalkit.check.output:OUTPUT_MATCHES",
        "output_equals": "evalkit.check.answer:OUTPUT_EQUALS",
        "output_schema": "evalkit.check.answer:OUTPUT_SCHEMA",
        "output_number": "evalkit.check.answer:OUTPUT_NUMBER",
        "output_similar": "evalkit.check.answer:OUTPUT_SIMILAR",
        "tells": "evalkit.check.telling:TELLS",
        "no_tool_error": "evalkit.check.errors:NO_TOOL_ERROR",
        "completed": "evalkit.check.ending:COMPLETED",
        "ends_with": "evalkit.check.ending:ENDS_WITH",
        "all_of": "evalkit.check.combined:ALL_OF",
        "any_of": "evalkit.check.combined:ANY_OF",
        "not": "evalkit.check.combined:NOT",
        "step_limit": "evalkit.check.limits:STEP_LIMIT",
        "usage_limit": "evalkit.check.limits:USAGE_LIMIT",
    },
)
