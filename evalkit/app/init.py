"""`evalkit init`: what a project needs to start with; nothing that exists is touched unless it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["init_project"]

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
    "cases/.gitkeep": "",
    "reports/.gitignore": "*\n!.gitignore\n",
}


def init_project(root: Path, *, force: bool = False) -> Iterator[tuple[Path, bool]]:
    """Writes the files; gives each with whether it was written."""
    for name, text in _FILES.items():
        path = root / name
        wanted = force or not path.exists()
        if wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        yield path, wanted
