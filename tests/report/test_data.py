"""``verdicts.json``."""

from __future__ import annotations

import json

import pytest

from evalkit.errors import InputError
from evalkit.report.data import SCHEMA, verdicts_from_json, verdicts_json
from tests.report.build import blocked_run


def test_what_is_written_is_read_back() -> None:
    """No field of a verdict or of the decision is lost."""
    parts = blocked_run()
    text = b"".join(verdicts_json(parts.verdicts, parts.decision))
    assert verdicts_from_json(text) == (parts.verdicts, parts.decision)


def test_the_keys_are_stable() -> None:
    """Programs read these names: a change here is a change of the schema."""
    parts = blocked_run()
    body = json.loads(b"".join(verdicts_json(parts.verdicts, parts.decision)))
    assert body["schema"] == SCHEMA == "evalkit.verdicts/1"
    assert sorted(body) == ["cases", "decision", "effect", "notices", "savings", "schema"]
    assert sorted(body["decision"]) == ["blocking", "inconclusive", "outcome", "reason"]
    assert sorted(body["cases"][0]) == sorted(
        "case_id version digest title permanent passed failed missed errored n rate low high verdict change reason "
        "baseline p_value p_adjusted deterministic failing_checks cost_usd owner link signature tags stale policy "
        "on_degraded detectable_drop more_samples underpowered stability many_runs samples_fixed model_calls "
        "screened estimate steps samples".split()
    )
    assert sorted(body["cases"][0]["baseline"]) == ["deterministic", "estimate", "high", "low", "n", "passed"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other/1"}', '{"schema": "evalkit.verdicts/1", "cases": [{}]}']
)
def test_anything_else_is_refused(text: str) -> None:
    """A torn or foreign file is named, never read as an empty run."""
    with pytest.raises(InputError) as caught:
        verdicts_from_json(text, "reports/x/verdicts.json")
    assert caught.value.where == "reports/x/verdicts.json"
