"""Commands on a changing world: affected, reapprove, drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evalkit.cli.agent_output import agents_to_stderr
from evalkit.cli.common import as_json, echo_json, options, project, say
from evalkit.errors import ExitCode

if TYPE_CHECKING:
    from evalkit.app.settings import Settings
    from evalkit.suite.sources import Sources

__all__ = ["affected", "drift", "reapprove"]

_sources = options(
    click.option("--prompt", multiple=True, metavar="FILE", help="A system prompt of today; {name} fits any text."),
    click.option("--tools", multiple=True, metavar="FILE", help="Today's tools: JSON of OpenAI, Anthropic or MCP."),
    click.option("--target", default="", help="An agent whose first request says what no file says."),
)


@click.command()
@click.argument("cases", nargs=-1)
@_sources
@as_json
@click.pass_context
def affected(
    context: click.Context,
    cases: tuple[str, ...],
    prompt: tuple[str, ...],
    tools: tuple[str, ...],
    target: str,
    as_json: bool,
) -> None:
    """Cases that were recorded under another prompt, other tools or other effects than today's.

    Without options the files of [affected] in the settings say what there is today. 1 where a case is touched, 3 where
    a target could not tell, else 0.
    """
    from evalkit.app.affected import affected_cases
    from evalkit.app.show_affected import affected_json, affected_lines

    settings = project()
    with agents_to_stderr(wanted=as_json):
        found = affected_cases(settings, _said(settings, prompt, tools, target), cases=cases, target=target)
    if as_json:
        echo_json(affected_json(found))
    for line in affected_lines(found):
        say(line, err=as_json)
    unknown = ExitCode.INCONCLUSIVE if any(one.unknown for one in found) else ExitCode.DONE
    context.exit(ExitCode.BLOCKED if any(one.touches for one in found) else unknown)


@click.command()
@click.argument("cases", nargs=-1, required=True)
@_sources
@click.option("--actor", default="", help="Who decides this; EVALKIT_ACTOR or USER by default.")
@click.option("--reason", required=True, help="Why, one sentence.")
def reapprove(
    cases: tuple[str, ...], prompt: tuple[str, ...], tools: tuple[str, ...], target: str, actor: str, reason: str
) -> None:
    """Agree that touched cases test what they should under today's prompt and tools, too, as new versions."""
    from evalkit.app.affected import reapprove_case
    from evalkit.trace.visible import visible

    settings = project()
    sources = _said(settings, prompt, tools, target)
    for case in cases:
        path, found = reapprove_case(case, settings, sources, actor=actor, reason=reason, target=target)
        for touch in found:
            say(visible(f"{case}: {touch.words}"))
        say(f"wrote {path}")


@click.command()
@click.argument("case_or_suite")
@click.option(
    "--tool", "tools", multiple=True, required=True, metavar="NAME", help="A tool that may be called for real."
)
@click.option("--target", default="", help="The agent whose tools they are; the project's or the case's own.")
@click.option("--shape-only", is_flag=True, help="Other values are no drift, only another shape is.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Different calls at most.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds a call may take.")
@click.option("--actor", default="", help="Who asks; EVALKIT_ACTOR or USER by default.")
@click.option("--reason", required=True, help="Why, one sentence; it is logged.")
@as_json
@click.pass_context
def drift(
    context: click.Context,
    case_or_suite: str,
    tools: tuple[str, ...],
    target: str,
    shape_only: bool,
    limit: int,
    timeout: float,
    actor: str,
    reason: str,
    as_json: bool,
) -> None:
    """Call named read tools for real, with the arguments that a case recorded, and compare the answers.

    NAME, or NAME=module:function. Only tools that somebody says only read are called. 1 where an answer drifted, 3
    where nothing could be called, else 0.
    """
    from evalkit.app.drift import find_drift
    from evalkit.app.show_affected import drift_exit_code, drift_json, drift_lines

    found = find_drift(
        case_or_suite, project(), tools=tools, actor=actor, reason=reason, target=target, limit=limit,
        timeout_s=timeout,
    )  # fmt: skip
    if as_json:
        echo_json(drift_json(found))
    for line in drift_lines(found):
        say(line, err=as_json)
    context.exit(drift_exit_code(found, shape_only=shape_only))


def _said(settings: Settings, prompt: tuple[str, ...], tools: tuple[str, ...], target: str) -> Sources:
    """The files of the options; those of the settings where there are none."""
    from evalkit.suite.sources import Sources

    return Sources(prompt, tools) if prompt or tools or target else settings.affected
