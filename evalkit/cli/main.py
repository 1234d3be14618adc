"""The command line: names its commands, loads one when it is called, and turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from evalkit.app.message import error_text
from evalkit.cli.ended import end_with
from evalkit.cli.given import refusing_empty
from evalkit.cli.streams import ready_streams
from evalkit.errors import EvalkitError, ExitCode, InputError

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("evalkit.cli.project:init", "Set a project up: settings, folders, a suite."),
    "demo": ("evalkit.cli.project:demo", "The whole loop, offline, in a temporary folder."),
    "doctor": ("evalkit.cli.project:doctor", "What this machine can do: sandbox, Python, extras, keys, git."),
    "record": ("evalkit.cli.recording:record", "Run a command and record its agent: evalkit record -- python agent.py"),
    "inspect": ("evalkit.cli.traces:inspect", "What is in a trace, and what it lacks."),
    "ingest": ("evalkit.cli.traces:ingest", "Make cases of incident traces."),
    "sanitize": ("evalkit.cli.sanitizing:sanitize", "What the sanitization rules change in traces."),
    "judge": ("evalkit.cli.traces:judge", "A case's checks against traces that exist."),
    "scan": ("evalkit.cli.scanning:scan", "The library's incidents, looked for in production traces."),
    "coverage": ("evalkit.cli.coverage:coverage", "What the cases test, and what they don't."),
    "list": ("evalkit.cli.cases:list_", "The cases."),
    "show": ("evalkit.cli.cases:show", "One case."),
    "diff": ("evalkit.cli.cases:diff", "What differs between two cases, versions or traces."),
    "history": ("evalkit.cli.cases:history", "A case's versions."),
    "edit": ("evalkit.cli.life:edit", "Replace a case's checks, as a new version."),
    "review": ("evalkit.cli.life:review", "Read a case's checks, one by one, and agree to them."),
    "promote": ("evalkit.cli.life:promote", "Make a case a permanent gate."),
    "retire": ("evalkit.cli.life:retire", "Take a case out of the suites, with a reason."),
    "affected": ("evalkit.cli.affected:affected", "Cases that today's prompt, tools or effects touch."),
    "reapprove": ("evalkit.cli.affected:reapprove", "Agree that a touched case is right as it is."),
    "drift": ("evalkit.cli.affected:drift", "Whether read tools still answer as they were recorded."),
    "check": ("evalkit.cli.cases:check", "Whether the case library holds: hashes, lock, views."),
    "export": ("evalkit.cli.export:export", "A case as a test, as YAML, or as a trace."),
    "evidence": (
        "evalkit.cli.evidence:evidence",
        "The raw traces that are kept, encrypted, elsewhere.",
    ),
    "forget": ("evalkit.cli.evidence:forget", "Remove a person, account or number everywhere."),
    "retention": ("evalkit.cli.evidence:retention", "Destroy the evidence whose time is over."),
    "power": ("evalkit.cli.planning:power", "What so many samples can tell, before they are run."),
    "replay": ("evalkit.cli.runs:replay", "Replay one case in its frozen world."),
    "gateway": ("evalkit.cli.gateway:gateway", "Serve a case's model and tools to an agent in any language."),
    "run": ("evalkit.cli.runs:run", "Run a suite."),
    "ab": ("evalkit.cli.ab:ab", "Two prompts, models or agents, in turns, compared case by case."),
    "gate": ("evalkit.cli.gating:gate", "Decide a release from a finished run."),
    "report": ("evalkit.cli.runs:report", "Write a run's reports again."),
    "trend": ("evalkit.cli.nights:trend", "A suite over its nights, and where it changed."),
    "baseline": ("evalkit.cli.baselines:baseline", "What later runs are compared with: set, bless, show, compare."),
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called; its help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return refusing_empty(found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="evalkit")
def cli() -> None:
    """evalkit makes sure that an AI agent's incident never comes back.

    Exit codes: 0 done, gate passed; 1 gate blocked, checks failed; 2 wrong usage or input; 3 inconclusive;
    4 integrity; 130 interrupted (--resume continues).
    """


_OF_FILES = frozenset(
    getattr(errno, f"E{name}")
    for name in "ACCES DQUOT EXIST FBIG IO ISDIR LOOP MFILE NAMETOOLONG NOENT NOSPC NOTDIR PERM ROFS".split()
    if hasattr(errno, f"E{name}")
)
"""What the system says of folders that can't be written and disks that are full: no fault of ours, and no verdict."""


def _fault(error: OSError) -> EvalkitError:
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.strerror)
    return InputError(os.strerror(error.errno or 0), where, "mend that, then the same command again")


def _unnameable(error: UnicodeEncodeError) -> EvalkitError:
    what = f"the system's encoding, {error.encoding}, has no {error.object[error.start : error.end]!r}"
    return InputError(what, error.object, "set LC_ALL=C.UTF-8, then the same command again")


def main() -> None:
    """The command line of this process."""
    ready_streams()
    try:
        code = cli.main(standalone_mode=False)
    except EvalkitError as error:
        click.echo(f"error: {error_text(error)}", err=True)
        code = int(error.exit_code)
    except click.ClickException as error:
        error.show()
        code = int(ExitCode.WRONG_INPUT)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = int(ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno not in _OF_FILES:
            raise
        click.echo(f"error: {error_text(_fault(error))}", err=True)
        code = int(ExitCode.WRONG_INPUT)
    except UnicodeEncodeError as error:
        if error.encoding != sys.getfilesystemencoding():
            raise
        click.echo(f"error: {error_text(_unnameable(error))}", err=True)
        code = int(ExitCode.WRONG_INPUT)
    end_with(code if isinstance(code, int) else 0)
