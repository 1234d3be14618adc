"""Which runs are kept in their suite's history, and what its nights say together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.app.settings import Settings
from evalkit.errors import ConfigError, InputError
from evalkit.suite.model import Manifest
from evalkit.verdict.history import Night, append_night, history_path, read_history
from evalkit.verdict.night import HARMLESS
from evalkit.verdict.trend import Trend, trend_of

__all__ = ["chosen_history", "keep_night", "suite_file", "suite_trend"]


def chosen_history(
    path: Path, keep: bool, overrides: Mapping[str, Any], asked: bool | None, *, whole: bool = True
) -> str:
    """The history that a run of a suite file goes to; empty for none.

    A run is a night where the suite wants that and the run is the suite's as its file has it: with another target, or
    with fewer samples, it would be compared with nights that measured something else. Another address of the model is
    the same model.

    Args:
        keep: whether the suite keeps nights.
        overrides: keys that were set on the command line; None among them is none.
        asked: ``--history`` or ``--no-history``; None for neither.
        whole: whether all cases of the suite are run.

    Raises:
        ConfigError: a part of the suite is asked to be kept: a night's rate is that of all its cases.
    """
    if asked and not whole:
        cure = "leave out --history, or --filter and --only-failing"
        raise ConfigError("a part of a suite is no night of it: its rate is that of other cases", "--history", cure)
    changed = {key for key, value in overrides.items() if value is not None} - HARMLESS
    if isinstance(overrides.get("model"), Mapping) and set(overrides["model"]) <= {"base_url"}:
        changed.discard("model")
    wanted = keep and whole and not changed if asked is None else asked
    return str(history_path(path)) if wanted else ""


def keep_night(manifest: Manifest, night: Night) -> str:
    """Adds a whole run to the history that its manifest names; gives what went wrong, in words.

    It never raises for that: a run that came to its end is worth more than its line in a file.
    """
    try:
        append_night(Path(manifest.history), night)
    except (InputError, OSError) as error:
        return f"not kept in the history: {str(error).splitlines()[0]}"
    return ""


def suite_file(suite: str, settings: Settings) -> Path:
    """The file of a suite that is named by its file, or by its name."""
    return Path(suite) if suite.endswith(".toml") else settings.suites / f"{suite}.toml"


def suite_trend(suite: str, settings: Settings, *, last: int = 0) -> Trend:
    """The trend of a suite's history.

    Args:
        suite: its name or file, or the history's file.
        last: so many nights, the newest; 0 for all.

    Raises:
        InputError: there is no such suite, or no night of it, or the history is broken.
    """
    path = Path(suite) if suite.endswith(".jsonl") else history_path(suite_file(suite, settings))
    nights = read_history(path)
    if not nights:
        file = suite_file(suite, settings)
        if not suite.endswith(".jsonl") and not file.exists():
            raise InputError(
                "there is no such suite", str(file), "name a suite's file, or its name in the suites' folder"
            )
        raise InputError(
            "there is no night in the history", str(path), "evalkit run SUITE keeps whole runs of the suite as it is"
        )
    return trend_of(nights[-last:] if last else nights)
