"""What answered a run's live calls is kept with its samples, and what is odd about it is said everywhere."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from evalkit.app.demo import server as demo
from evalkit.suite.results import read_samples
from tests.cli.test_budget import suite
from tests.project import Project


def test_a_changed_provider_is_noticed_everywhere(
    project: Project, case_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the run's lines and JSON, at the gate, in the verdicts, on the page; and each sample keeps what it saw."""
    calls = count()
    plain = demo._completion

    def completion(*arguments: Any) -> dict[str, Any]:
        at = next(calls)
        body = plain(*arguments)
        body["usage"]["prompt_tokens_details"] = {"cached_tokens": 2}
        return {**body, "id": f"chatcmpl-{at}", "system_fingerprint": "fp_old" if at < 8 else "fp_new"}

    monkeypatch.setattr(demo, "_completion", completion)
    with demo.serving(demo.ScriptedModel(error_rate=0.0)) as url:
        done = project.run("run", suite(project, url, samples=4), "--out", "reports/a", "--executor", "serial")
    assert "note: the provider's configuration of" in done.out
    assert "fp_old, then fp_new" in done.out
    assert "from its cache" in done.out
    (samples,) = read_samples(project.root / "reports" / "a").values()
    assert [sample.order for sample in samples] == [0, 1, 2, 3]
    served = [sample.served for sample in samples if sample.served is not None]
    assert [one.fingerprints for one in served] == [("fp_old",)] * 2 + [("fp_new",)] * 2
    assert {(one.cached_tokens > 0, len(one.prompts), len(one.toolsets)) for one in served} == {(True, 1, 1)}
    assert len({one.answers for one in served}) == 4
    body = project.run("gate", "reports/a", "--json").json()
    assert any("fp_old, then fp_new" in notice for notice in body["notices"])
    verdicts = json.loads((project.root / "reports" / "a" / "verdicts.json").read_bytes())
    assert verdicts["notices"] == body["notices"]
    assert "fp_old, then fp_new" in (project.root / "reports" / "a" / "report.html").read_text("utf-8")
    (night,) = project.run("trend", "b", "--json").json()["nights"]
    assert night["fingerprints"] == ["fp_new", "fp_old"]
