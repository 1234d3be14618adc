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

from evalkit.app.keys import project_key
from evalkit.app.settings import Settings
from evalkit.capture.git import ask_git
from evalkit.errors import ConfigError, EvalkitError
from evalkit.playback.sandbox.model import Layers
from evalkit.playback.sandbox.run import probe_layers
from evalkit.sanitize.key import key_id, own_key_file
from evalkit.suite.select import list_cases

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
    yield _project_key(settings)


def _project_key(settings: Settings) -> Finding:
    """Which one is at hand, by its id: the cases that it fits have the same (`evalkit show`)."""
    path = settings.key_file or own_key_file()
    where = "EVALKIT_PSEUDONYM_KEY" if settings.pseudonym_key else str(path)
    if not settings.pseudonym_key and not path.exists():
        return Finding("key", "project key", "absent", f"{path} is not there: the next ingest makes it")
    try:
        found = key_id(project_key(settings, make=False))
    except ConfigError as error:
        return Finding("key", "project key", "lacking", f"{error.what} ({where}); {error.cure}")
    return Finding("key", "project key", "ok", f"id {found}, from {where}{_fitting(settings, found)}")


def _fitting(settings: Settings, key: str) -> str:
    """How many of the project's cases were made with it, where not all were; `evalkit check` tells of broken ones."""
    try:
        ids = [case.key_id for case in list_cases(settings.cases)]
    except EvalkitError:
        return ""
    others = sum(one != key for one in ids)
    return f"; {others} of {len(ids)} cases were made with another one" if others else ""


def _git(root: Path) -> Iterator[Finding]:
    version = ask_git(root, "--version").text
    if version is None:
        yield Finding(
            "git", "git", "absent", "not installed: manifests lack the commit, gates can't compare with a branch"
        )
        return
    asked = ask_git(root, "rev-parse", "--is-inside-work-tree")
    inside = asked.text == "true"
    said = version if inside else f"{version}; {asked.fault or 'this folder is in no working tree'}"
    yield Finding("git", "git", "ok" if inside else "absent", said)
