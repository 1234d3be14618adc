"""docs/recording.md works as it stands."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import evalkit
from evalkit.trace.side_effect import lives
from evalkit.trace.snapshot import snapshot
from tests.project import Project

DOC = Path(__file__).parents[2] / "docs" / "recording.md"
FIRST, *FRAMEWORKS = re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)


def test_the_example_records_what_the_table_says(project: Project) -> None:
    """Each kind of step, once, with the approval tied to the call."""
    names: dict[str, Any] = {"__name__": "documented"}
    exec(compile(FIRST, str(DOC), "exec"), names)
    (trace,) = evalkit.load_traces("incident.trace")
    kinds = [step.kind for step in trace.steps if step.parent is None]
    assert kinds == ["retrieval", "policy", "approval", "tool", "state"]
    assert [life.status for life in lives(trace)] == ["confirmed"]
    seen = snapshot(trace)
    assert seen["tools"][0]["approval"] == 2
    assert seen["config"]["prompt"] == "v12"
    assert "Lovelace" not in Path("incident.trace").read_text()


def test_the_frameworks_examples_name_what_there_is() -> None:
    """Each parses, and what it imports of ours exists."""
    assert len(FRAMEWORKS) == 3
    for code in FRAMEWORKS:
        tree = compile(code, str(DOC), "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert imports
        for node in imports:
            assert all(hasattr(import_module(str(node.module)), name.name) for name in node.names)
