"""`evalkit doctor`: what this machine can do for evalkit: the sandbox's layers, Python, extras, keys, git."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from evalkit.app.environment import git
from evalkit.app.settings import Settings
from evalkit.playback.sandbox.model import Layers
from evalkit.playback.sandbox.run import probe_layers

__all__ = ["Finding", "doctor_json", "doctor_lines", "examine"]

_EXTRAS = {
    "langchain": "langchain_core",
    "mcp": "mcp",
    "openai-agents": "agents",
    "ner-jieba": "jieba",
    "ner-presidio": "presidio_analyzer",
    "ner-spacy": "spacy",
    "vault": "pyrage",
}
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EVALKIT_PSEUDONYM_KEY")

_UNSTOPPED = {
    "landlock": "an agent's code can read and write whatever you can: keys, the repository, your home",
    "seccomp": "it can start programs, open sockets and reach into other processes",
    "network namespace": "nothing more by itself: seccomp refuses sockets; this layer only stands behind it",
    "rlimits": "it can use up memory and disk",
    "capabilities": "as root it keeps a root's special rights, as far as Landlock and seccomp let it",
}
_IN_PROCESS = (
    "sockets by subprocesses, C code and reads and writes of files can't be stopped: the guard is in-process only"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    Attributes:
        area: ``sandbox``, ``python``, ``extra``, ``key`` or ``git``.
        state: ``ok``; ``absent``: not there, and nothing needs it by itself; ``lacking``: something can't be kept.
        what: in words.
    """

    area: Literal["sandbox", "python", "extra", "key", "git"]
    name: str
    state: Literal["ok", "absent", "lacking"]
    what: str


def examine(settings: Settings) -> tuple[Layers, list[Finding]]:
    """The layers, found by applying them in a fork, and all findings. No key's value is read into them."""
    layers = probe_layers()
    return layers, [*_sandbox(layers), *_python(), *_extras(), *_keys(settings), *_git(settings.root)]


def doctor_json(layers: Layers, findings: list[Finding]) -> dict[str, Any]:
    """Stable keys, for scripts."""
    sandbox = {"safe": layers.safe, "layers": list(layers.names), "missing": layers.missing}
    return {"sandbox": sandbox, "findings": [asdict(finding) for finding in findings]}


def doctor_lines(layers: Layers, findings: list[Finding]) -> Iterator[str]:
    """One line a finding, and what it comes to."""
    for finding in findings:
        yield f"{finding.state:<8} {finding.area:<8} {finding.name}: {finding.what}"
    if layers.safe:
        yield "sandboxed replays: yes (sandbox = true in a suite, or --sandbox)"
    else:
        yield "sandboxed replays: refused here, but for --unsafe-replay; replays have the in-process guard only"


def _sandbox(layers: Layers) -> Iterator[Finding]:
    for name in layers.names:
        yield Finding("sandbox", name, "ok", "holds")
    for name, why in layers.missing.items():
        yield Finding("sandbox", name, "lacking", f"{why}; without it: {_UNSTOPPED.get(name, _IN_PROCESS)}")
    if sys.platform != "linux":
        yield Finding("sandbox", sys.platform, "lacking", _IN_PROCESS)


def _python() -> Iterator[Finding]:
    supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    where = f"{platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("python", sys.executable, "ok" if supported else "lacking", where)


def _extras() -> Iterator[Finding]:
    for name, module in _EXTRAS.items():
        there = find_spec(module) is not None
        yield Finding(
            "extra", name, "ok" if there else "absent", "installed" if there else f"pip install 'evalkit[{name}]'"
        )


def _keys(settings: Settings) -> Iterator[Finding]:
    for name in _KEYS:
        there = bool(os.environ.get(name))
        yield Finding("key", name, "ok" if there else "absent", "set" if there else "not set")
    if settings.key_file is not None:
        there = settings.key_file.is_file()
        said = "is there" if there else "is not there: the next ingest makes it"
        yield Finding("key", str(settings.key_file), "ok" if there else "absent", said)


def _git(root: Path) -> Iterator[Finding]:
    version = git(root, "--version")
    if version is None:
        yield Finding(
            "git", "git", "absent", "not installed: manifests lack the commit, gates can't compare with a branch"
        )
        return
    inside = git(root, "rev-parse", "--is-inside-work-tree") == "true"
    said = version if inside else f"{version}; this folder is in no repository"
    yield Finding("git", "git", "ok" if inside else "absent", said)
