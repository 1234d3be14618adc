"""Git, asked about the repository that a folder lies in, whatever the environment says of another one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Told", "ask_git"]

_OF_A_REPOSITORY = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES "
    "GIT_NAMESPACE GIT_PREFIX GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_REPLACE_REF_BASE".split()
)
"""What git sets for its hooks, and what would have it read another repository than the one around a folder."""
_OF_PROGRAMS = ("EVALKIT_RECORD_", "GIT_EXTERNAL_DIFF")
"""How names begin that would have a filter of git's that is Python recorded in its turn, or a program show diffs."""
_CALMLY = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
"""Nothing is written, nothing stands in for what was committed, nobody is asked for a password; words are English."""


@dataclass(frozen=True, slots=True)
class Told:
    """What git said.

    Attributes:
        out: its output; None where git, the repository or what was asked for is missing.
        fault: why there is none, in git's own words; empty where there is some.
    """

    out: bytes | None
    fault: str = ""

    @property
    def text(self) -> str | None:
        """The output as text, a path's bytes as Python has them in paths; without white space at its ends."""
        return None if self.out is None else os.fsdecode(self.out).strip()


def ask_git(folder: Path, *arguments: str, given: bytes = b"", timeout_s: float = 30.0) -> Told:
    """What git says in a folder; what has no answer is told, and nothing is raised.

    Args:
        given: its standard input.
    """
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=_environment(folder), input=given, capture_output=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Told(None, f"git took longer than {timeout_s:g} s")
    except OSError as error:
        return Told(None, f"git can't be started: {error.strerror or error}")
    if done.returncode == 0:
        return Told(done.stdout)
    said = os.fsdecode(done.stderr).strip()
    return Told(None, said.partition("\n")[0].removeprefix("fatal: ") or f"git ended with {done.returncode}")


def _environment(folder: Path) -> Mapping[str, str]:
    """The environment in which git is asked about `folder`: the repository around it counts, where there is one."""
    here = folder.resolve()
    around = any(os.path.lexists(place / ".git") for place in (here, *here.parents))
    left_out = _OF_A_REPOSITORY if around else frozenset[str]()
    kept = {
        name: value for name, value in os.environ.items() if name not in left_out and not name.startswith(_OF_PROGRAMS)
    }
    return kept | _CALMLY
