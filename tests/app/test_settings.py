"""The project's settings: what a file of another form is told as."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.app.settings_read import load_settings
from evalkit.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool]\nevalkit = 3\n", "tool.evalkit is no table"),
        ("[tool.evalkit]\nsanitize = 3\n", "sanitize: a table is wanted"),
        ("[tool.evalkit.tools]\nrefund = 3\n", "tools.refund: a table is wanted"),
    ],
)
def test_a_value_where_a_table_is_wanted_is_told(tmp_path: Path, text: str, said: str) -> None:
    """Named by its key, not by a class of evalkit's."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        load_settings(tmp_path, {"EVALKIT_CASES": "elsewhere"})
    assert "instance of" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('targte = "agent:run"', "targte: there is no such key; target is meant?"),
        ('[tools."x"]\nefect = "write"', "tools.x.efect: there is no such key; effect is meant?"),
        ('[mcp.x]\nargv = ["x"]\npas = ["Y"]', "mcp.x.pas: there is no such key; pass is meant?"),
        ('[[sanitize.policies]]\npth = "x"', "sanitize.policies.0.pth: there is no such key; path is meant?"),
        ("zzz = 1", "zzz: there is no such key"),
    ],
)
def test_an_unknown_key_is_told_with_the_one_that_may_be_meant(tmp_path: Path, text: str, said: str) -> None:
    """At any depth: a misspelt key must not be looked for in the documentation."""
    (tmp_path / "evalkit.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, {})
    assert said in str(caught.value)


def test_a_shared_file_of_another_form_says_nothing_of_evalkit(tmp_path: Path) -> None:
    """What is wrong with it is for others to say."""
    (tmp_path / "pyproject.toml").write_text("tool = 1\n")
    assert load_settings(tmp_path, {}).cases == tmp_path / "cases"
