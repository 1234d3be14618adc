"""Commands on traces: inspect, ingest, judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.app.message import error_text
from evalkit.cli.common import as_json, echo_json, project, say, say_line, step_range, terminal_width
from evalkit.errors import CaseRefused, ExitCode
from evalkit.trace.visible import one_line, visible

if TYPE_CHECKING:
    from evalkit.app.inspection import Inspection, View
    from evalkit.case.model import Case
    from evalkit.trace.model import Trace
    from evalkit.vault.model import RetentionClass

__all__ = ["ingest", "inspect", "judge"]

_format = click.option("--format", "format", default=None, help="The traces' dialect; found by content otherwise.")


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option("--trace", "trace_id", default="", help="Only the trace with this id, or whose id starts with it.")
@click.option("--steps", callback=step_range, help="Only these steps of the timeline: 10-20, 10- or 7.")
@click.option("--snapshot", "as_snapshot", is_flag=True, help="JSON: what each run stood on, named by hashes.")
@click.option("--step", type=click.IntRange(0), help="One step in full: input, output, attributes.")
@click.option("--case", "case_id", default="", metavar="ID", help="TRACES is a run's folder: this case's replay in it.")
@click.option("--sample", type=click.IntRange(1), help="Of this sample; else of the first that did not pass.")
@click.option("--sanitized", is_flag=True, help="Show the traces as they would be kept; raw otherwise.")
@_format
@as_json
@click.pass_context
def inspect(
    context: click.Context,
    traces: tuple[str, ...],
    trace_id: str,
    steps: range | None,
    step: int | None,
    as_snapshot: bool,
    case_id: str,
    sample: int | None,
    sanitized: bool,
    format: str | None,
    as_json: bool,
) -> None:
    """What is in TRACES, what it lacks, and where it may have gone wrong.

    Each is a file, a folder, a zip or tar, or - for stdin; with --case a run's folder. What can't be read is named, and
    the rest is shown all the same; the exit code is 2 then.
    """
    from evalkit.app.inspection import Inspection, View

    if sample and not case_id:
        raise click.UsageError("--sample wants --case: of which case")
    if steps is not None and (step is not None or as_json or as_snapshot):
        raise click.UsageError("--steps is of the timeline; it says nothing to --step, --json or --snapshot")
    if step is not None and (as_json or as_snapshot):
        raise click.UsageError("--step shows one step in words; --json and --snapshot give the whole run")
    view = View(trace_id, steps, step, terminal_width())
    settings = project()
    inspections = [
        Inspection(source, settings, format, sanitized=sanitized, case_id=case_id, number=sample) for source in traces
    ]
    if as_snapshot:
        from evalkit.trace.snapshot import snapshot

        echo_json([snapshot(trace) for one in inspections for trace in one.traces(view)])
        return
    if as_json:
        _echo_inspections(inspections, view)
    else:
        for one in inspections:
            if len(inspections) > 1:
                say(one_line(one.source, view.width))
            for line in one.lines(view):
                say_line(line)
    context.exit(int(max(one.exit_code() for one in inspections)))


def _echo_inspections(inspections: Sequence[Inspection], view: View) -> None:
    """One object a source, trace by trace, so that a source with many is never held whole."""
    from evalkit.app.inspection import report_json, trace_json

    for number, one in enumerate(inspections):
        click.echo(("," if number else "[") + '{"source": ' + json.dumps(one.source) + ', "traces": [')
        for at, trace in enumerate(one.traces(view)):
            click.echo(("," if at else "") + json.dumps(trace_json(trace), ensure_ascii=False, sort_keys=True))
        for error in one.report.unreadable:
            say(f"could not be read: {visible(error.where)}: {visible(error.what)}", err=True)
        click.echo('], "report": ' + json.dumps(report_json(one.report), ensure_ascii=False, sort_keys=True) + "}")
    click.echo("]")


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option("--id", "case_id", default=None, help="The case's id; made from the failure otherwise.")
@click.option("--title", default="", help="One line for people.")
@click.option("--at", type=int, default=None, help="The step where it went wrong.")
@click.option("--trace", "trace_id", default=None, help="Which trace of a file that holds several.")
@click.option("--expect", type=click.Path(path_type=Path), help="JSON: the expected output, effects, calls.")
@click.option("--passing", multiple=True, help="A healthy run of the same task; may be given several times.")
@click.option("--passing-from", "among", multiple=True,
              help="A file or folder of traces: healthy runs of the same task are looked for in it.")  # fmt: skip
@click.option("--keep-all", is_flag=True, help="Prune nothing.")
@click.option("--volatile", multiple=True, metavar="TOOL=/PATH", help="An argument that is new in every run.")
@click.option("--learn/--no-learn", default=True, help="Learn such arguments from the healthy runs.")
@click.option("--tag", "tags", multiple=True)
@click.option("--target", default="", help="What a replay runs, as in replay; it is run once to verify the pruning.")
@click.option("--no-verify", is_flag=True, help="Do not run the target.")
@click.option("--owner", default="")
@click.option("--link", default="", help="The incident's page.")
@click.option("--into", default="", help="Make the incident a new version of this case; needs --reason.")
@click.option("--new", is_flag=True, help="Make it a case of its own, however much it is like another.")
@click.option("--actor", default="", help="Who decides this; EVALKIT_ACTOR or USER by default.")
@click.option("--reason", default="", help="Why, for --into.")
@click.option("--dry-run", is_flag=True, help="Show the case, write nothing.")
@click.option("--keep-raw", is_flag=True, help="Keep the raw traces too, encrypted, in the evidence folder.")
@click.option("--retention", type=click.Choice(["short", "standard"]), default="standard",
              help="How long raw traces are kept.")  # fmt: skip
@click.option("--review", is_flag=True, help="Show what was hidden, and ask before writing.")
@click.option("--yes", is_flag=True, help="With --review: write without asking.")
@_format
@as_json
@click.pass_context
def ingest(
    context: click.Context,
    traces: tuple[str, ...],
    case_id: str | None,
    title: str,
    at: int | None,
    trace_id: str | None,
    expect: Path | None,
    passing: tuple[str, ...],
    among: tuple[str, ...],
    keep_all: bool,
    volatile: tuple[str, ...],
    learn: bool,
    tags: tuple[str, ...],
    target: str,
    no_verify: bool,
    owner: str,
    link: str,
    into: str,
    new: bool,
    actor: str,
    reason: str,
    dry_run: bool,
    keep_raw: bool,
    retention: RetentionClass,
    review: bool,
    yes: bool,
    format: str | None,
    as_json: bool,
) -> None:
    """Make a case of each incident TRACE: pruned, sanitized, with checks that fail on it."""
    from evalkit.app.ingest import ingest_trace, load_one
    from evalkit.app.show_cases import case_json, ingested_lines, read_json
    from evalkit.app.show_evidence import kept_lines
    from evalkit.app.volatile import named_paths
    from evalkit.trace.read import load_traces

    if case_id and len(traces) > 1:
        raise click.UsageError("--id names one case; several traces were given")
    if into and (new or case_id):
        raise click.UsageError("--into adds to a case; --new and --id make one")
    settings = project()
    expected = None if expect is None else read_json(expect)
    paths = named_paths(volatile)
    healthy = [trace for source in passing for trace in load_traces(source, format=format)]
    refused: list[CaseRefused] = []
    made = []
    for source in traces:
        incident = load_one(source, format=format, trace_id=trace_id)
        try:
            done = ingest_trace(
                incident, settings, expect=expected, passing=healthy, at=at, case_id=case_id, title=title,
                keep_all=keep_all, tags=tags, target=target, owner=owner, link=link, dry_run=dry_run,
                source=source, agree=_reviewed(yes) if review else _agreed,
                among=_every(among, format) if among else None, verify=not no_verify,
                into=into, new=new, actor=actor, reason=reason,
                keep=retention if keep_raw else None, volatile=paths, learn=learn,
            )  # fmt: skip
        except CaseRefused as error:
            refused.append(error)
            say(f"refused: {error_text(error)}", err=True)
            continue
        made.append(done)
        for line in (*ingested_lines(done), *kept_lines(done.kept)):
            say(line, err=as_json)
    if as_json:
        echo_json([{**case_json(done.case, None), "path": str(done.path or "")} for done in made])
    unwritten = [done for done in made if done.path is None and not dry_run]
    context.exit(int(ExitCode.WRONG_INPUT) if refused or unwritten else 0)


def _agreed(_: Case) -> bool:
    return True


def _reviewed(yes: bool) -> Callable[[Case], bool]:
    """Shows what was hidden, then asks; nobody to ask is a no."""

    def agree(case: Case) -> bool:
        from evalkit.app.show_cases import hidden_lines

        for line in hidden_lines(case):
            say(line, err=True)
        if yes:
            return True
        if not sys.stdin.isatty():
            say("not written: nobody to ask; look at the list, then pass --yes", err=True)
            return False
        return click.confirm("Write it?", default=False, err=True)

    return agree


def _every(sources: tuple[str, ...], format: str | None) -> Iterator[Trace]:
    """All traces of some sources, one at a time."""
    from evalkit.trace.read import load_traces

    return (trace for source in sources for trace in load_traces(source, format=format))


@click.command()
@click.argument("case")
@click.argument("traces", nargs=-1, required=True)
@_format
@as_json
@click.pass_context
def judge(context: click.Context, case: str, traces: tuple[str, ...], format: str | None, as_json: bool) -> None:
    """A case's checks against traces that already exist; 1 if a gating one fails."""
    from evalkit.app.judging import judge_traces
    from evalkit.app.show_replays import result_json, result_lines

    judged = [one for source in traces for one in judge_traces(case, source, project(), format=format)]
    if as_json:
        echo_json([{"trace": one.trace_id, "passed": one.passed, "results": [result_json(r) for r in one.results]}
                   for one in judged])  # fmt: skip
    else:
        for one in judged:
            say(f"{visible(one.trace_id)}: {'passed' if one.passed else 'FAILED'}")
            for line in result_lines(one.results):
                say(f"  {line}")
    context.exit(int(ExitCode.DONE if all(one.passed for one in judged) else ExitCode.BLOCKED))
