"""No command lets a trace write to the terminal: no escape sequence, no bidi override, no line that it breaks."""

from __future__ import annotations

import re
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.trace.model import Trace
from tests.build import tool_step
from tests.loaded import Loaded
from tests.project import Project, healthy, incident

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066 \r\n\x9b31m \u200b" + "W" * 300
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


def hostile(trace: Trace) -> Trace:
    """The same run with escape sequences wherever text can stand."""
    tool = tool_step(len(trace.steps), f"ship{EVIL}", {f"key{EVIL}": EVIL}, {"said": EVIL}, error=EVIL)
    steps = tuple(
        replace(step, output={"note": EVIL, "was": step.output}, attributes={EVIL: EVIL}) for step in trace.steps
    )
    return replace(trace, id=f"id{EVIL}", name=f"agent{EVIL}", steps=(*steps, tool), output={"answer": EVIL})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, loaded: Loaded) -> Path:
    """A project with a permanent case of a hostile incident, a run of it, and its baseline; made once, to be copied."""
    root = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        project = Project(root, patch, loaded)
        project.write("incident.trace", hostile(incident(7)))
        project.write("healthy.trace", hostile(healthy(7)))
        title = ("--title", EVIL, "--owner", EVIL, "--link", f"https://example.com/{EVIL}")
        done = project.run("ingest", "incident.trace", "--id", "evil", "--passing", "healthy.trace", *title)
        assert done.code == 0, done.err
        assert project.run("review", "evil", "--accept-all", "--reason", EVIL, "--actor", EVIL).code == 0
        done = project.run("promote", "evil", "--passing", "healthy.trace", "--reason", EVIL, "--actor", EVIL)
        assert done.code == 0, done.err
        project.suite("twice", "release", samples=3)
        assert project.run("run", "suites/release.toml", "--out", "reports/one").code in (1, 3)
        assert project.run("baseline", "set", "reports/one", "--reason", EVIL, "--actor", EVIL).code == 0
    return root


@pytest.fixture
def library(project: Project, made: Path) -> Project:
    """A copy of it."""
    shutil.copytree(made, project.root, dirs_exist_ok=True)
    return project


COMMANDS = (
    ("inspect", "incident.trace"),
    ("inspect", "incident.trace", "--steps", "0-9"),
    ("list",),
    ("show", "evil"),
    ("history", "evil"),
    ("diff", "evil@1", "evil"),
    ("diff", "incident.trace", "healthy.trace"),
    ("check",),
    ("coverage",),
    ("judge", "evil", "incident.trace"),
    ("scan", "incident.trace"),
    ("sanitize", "incident.trace"),
    ("replay", "evil", "--target", "tests.suite.agents:twice"),
    ("replay", "evil", "--target", "tests.suite.agents:stray", "--mode", "dry"),
    ("run", "suites/release.toml"),
    ("gate", "reports/one"),
    ("baseline", "show", "release"),
    ("show", f"evil{EVIL}"),
    ("judge", "evil", f"no{EVIL}.trace"),
    ("gate", f"reports/{EVIL[:60]}"),
)


@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: " ".join(command)[:40].encode("unicode_escape").decode()
)
def test_nothing_of_a_trace_reaches_the_terminal_raw(library: Project, command: tuple[str, ...]) -> None:
    """Neither on stdout nor on stderr; an error message that quotes it is one line as well."""
    done = library.run(*command)
    for text in (done.out, done.err):
        assert not FORBIDDEN.search(text), FORBIDDEN.search(text)
        assert "owned" not in text or "\\x1b" in text  # it is shown, as an escape


@pytest.mark.parametrize("command", [("list",), ("coverage",), ("baseline", "show", "release")])
def test_tables_fit_eighty_columns(library: Project, command: tuple[str, ...]) -> None:
    """However long a title is; wide characters take two cells."""
    table = library.run(*command).out.split("\n\n")[0].splitlines()[: 3 if command[0] == "coverage" else None]
    for line in table:
        cells = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)
        assert cells <= 80 or command[0] == "baseline", line


def test_the_name_of_what_failed_breaks_no_line(project: Project) -> None:
    """A signature holds it; CI's runner would take the next line for a command."""
    name = "refund\n::error::owned \x1b[2J"
    steps = [tool_step(at, name, {"order": 7}, {"ok": True}, effect="write") for at in range(2)]
    project.write("incident.trace", replace(incident(7), steps=tuple(steps)))
    shown = [project.run("ingest", "incident.trace", "--id", "evil")]
    shown += [project.run("review", "evil", "--accept-all", "--reason", "r"), project.run("show", "evil")]
    shown += [project.run("list"), project.run("coverage"), project.run("history", "evil"), project.run("check")]
    assert [done.code for done in shown] == [0] * len(shown)
    for done in shown:
        assert not FORBIDDEN.search(done.out + done.err)
        assert not re.search("^::", done.out + done.err, re.MULTILINE)
