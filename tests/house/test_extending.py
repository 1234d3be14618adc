"""docs/extending.md works as it stands: a stranger's check is registered, compiled and judged like our own."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.errors import ConfigError
from evalkit.registry import Registry
from tests.build import a_trace

DOC = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The document's own code, importable, and registered by entry point."""
    (code,) = re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    module = ModuleType("your_package")
    exec(code, module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "your_package", module)
    points = {
        "polite_answer": EntryPoint("polite_answer", "your_package:POLITE_ANSWER", "evalkit.checks"),
        "broken": EntryPoint("broken", "your_package:NOTHING", "evalkit.checks"),
        "called": EntryPoint("called", "your_package:POLITE_ANSWER", "evalkit.checks"),
    }
    monkeypatch.setattr("evalkit.registry._entry_points", lambda group: points)


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(("answer", "passed"), [("thank you, it is on its way", True), ("done", False)])
def test_a_strangers_check_judges(answer: str, passed: bool) -> None:
    """By its name in a case, as ours do."""
    (result,) = judge_checks([Check("polite_answer", {"word": "thank you"})], a_trace(output=answer))
    assert (result.passed, "thank you" in result.reason) == (passed, True)


@pytest.mark.usefixtures("strangers")
def test_a_stranger_that_fails_to_load_is_named() -> None:
    """Which plug-in, from where, and what to do."""
    registry: Registry[Any] = Registry("check", "evalkit.checks", {})
    with pytest.raises(ConfigError, match=r"your_package:NOTHING.*failed to load"):
        registry.get("broken")
    with pytest.raises(ConfigError, match="use one of"):
        registry.get("unheard_of")


@pytest.mark.usefixtures("strangers")
def test_a_stranger_does_not_take_a_built_in_name() -> None:
    """Nobody changes what a case of ours means by installing a package."""
    registry: Registry[Any] = Registry("check", "evalkit.checks", {"called": "evalkit.check.calls:CALLED"})
    assert type(registry.get("called")).__module__ == "evalkit.check.calls"
    assert registry.names() == ["called", "broken", "polite_answer"]
