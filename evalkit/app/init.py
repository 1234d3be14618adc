"""`evalkit init`: what a project needs to start with; nothing that exists is touched unless it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["Ci", "init_project"]

Ci: TypeAlias = Literal["github", "gitlab"]

_SETTINGS = """\
# evalkit: see docs/files.md
# target = "agent:run"            # what a replay runs; a program or service: see docs/gateway.md
# owner = "payments-team"

# What tools do to the world; without it, effects are guessed from names.
# [tools."refund_*"]
# effect = "write"

# Raw traces are kept only if you say where, and who may read them: see docs/evidence.md
# [evidence]
# folder = "/srv/evidence"
# recipients = ["age1..."]

# [sanitize]
# allow = ["support@example.com"]
"""

_RELEASE = """\
# Blocks a release: every permanent case must pass.
name = "release"

[select]
gate = true

# A case passes once a pass rate of 0.99 is told from one of 0.9: after 35 samples that all pass, or two equal replays
# of a frozen agent. See docs/files.md for the other policies.
# [policy]
# kind = "not_worse"
# margin = 0.1
"""

_NIGHTLY = """\
# Watches every case, night by night.
name = "nightly"
"""

_FILES = {
    "evalkit.toml": _SETTINGS,
    "suites/release.toml": _RELEASE,
    "suites/nightly.toml": _NIGHTLY,
    "cases/.gitignore": "# what an ingest that was killed left: nobody looked it over\n.writing-*\n",
    "cases/.gitattributes": "# whatever else git is told of text: no byte of these changes\n*.parquet -text\n",
    "reports/.gitignore": "*\n!.gitignore\n",
}


_CI: Mapping[Ci, Mapping[str, str]] = {
    "github": {
        ".github/workflows/evalkit-release.yml": "github-release.yml",
        ".github/workflows/evalkit-nightly.yml": "github-nightly.yml",
    },
    "gitlab": {".gitlab/evalkit.yml": "gitlab.yml"},
}
_INCLUDE = {".gitlab-ci.yml": "include:\n  - local: .gitlab/evalkit.yml\n"}
"""A project has one such file: it is written where there is none; elsewhere its owner adds the lines."""


def init_project(root: Path, *, force: bool = False, ci: Ci | None = None) -> Iterator[tuple[Path, bool]]:
    """Writes the files; gives each with whether it was written.

    Args:
        force: overwrite what exists.
        ci: also the jobs of that service: the release gate, and the nights.
    """
    jobs = {} if ci is None else {name: _template(source) for name, source in _CI[ci].items()}
    for name, text in {**_FILES, **jobs}.items():
        path = root / name
        wanted = force or not path.exists()
        if wanted:
            _write(path, text)
        yield path, wanted
    for name, text in _INCLUDE.items() if ci == "gitlab" else ():
        if not (path := root / name).exists():
            _write(path, text)
            yield path, True
        else:
            yield path, False


def _template(name: str) -> str:
    return files("evalkit.app").joinpath("ci_templates", name).read_text("utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
