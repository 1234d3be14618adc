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


def test_a_shared_file_of_another_form_says_nothing_of_evalkit(tmp_path: Path) -> None:
    """What is wrong with it is for others to say."""
    (tmp_path / "pyproject.toml").write_text("tool = 1\n")
    assert load_settings(tmp_path, {}).cases == tmp_path / "cases"
