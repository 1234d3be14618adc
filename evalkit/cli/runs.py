"""Commands on runs: replay, run, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.agent_output import agents_to_stderr
from evalkit.cli.common import SUITE, as_json, echo_json, project, refuse_ignored, say
from evalkit.cli.model_options import BUDGET, ON_MISS, model_options, planned
from evalkit.cli.progress import ProgressLine
from evalkit.cli.terminated import terminated_as_interrupted
from evalkit.playback.modes import MODES, SUITE_MODES

if TYPE_CHECKING:
    from evalkit.app.replay import Replayed
    from evalkit.app.replay_plan import Plan

__all__ = ["replay", "report", "run", "worker_count"]

_MODES = (*MODES, "dry")
_FILTER = "Only these cases: ID*, tag:NAME, state:STATE, signature:NAME*, gate; words: and, commas: or, !: not."
_RESUMING = {"workers", "executor", "budget", "resume", "raise_samples", "actor", "as_json"}


@click.command()
@click.argument("case")
@click.option("--target", default="", help='What to run: module:function, "command: node agent.mjs", or a URL.')
@click.option("--mode", type=click.Choice(_MODES), help="What answers; exact, or what the other options ask for.")
@click.option("--from-step", type=click.IntRange(0), help="Fork: go on from this model step, with a live model.")
@model_options
@click.option("--sandbox", is_flag=True, help="Replay in a fork that the kernel confines (Linux).")
@click.option("--unsafe-replay", is_flag=True, help="In a sandbox even where layers are missing.")
@click.option("--max-turns", type=click.IntRange(1), default=20, show_default=True, help="Model calls of a fork.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click.option("--clock", type=click.Choice(["still", "moving"]), help="Whether time goes on between recorded answers.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds a replay may take.")
@as_json
@click.pass_context
def replay(
    context: click.Context,
    /,
    case: str,
    mode: str | None,
    sandbox: bool,
    unsafe_replay: bool,
    strict: bool,
    timeout: float,
    max_turns: int,
    out: Path | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Replay one case in its frozen world and judge it."""
    from evalkit.app.replay import check_free, run_plan, write_traces

    settings = project()
    if mode == "dry":
        _show_dry(planned(case, settings, mode=None, sandbox=sandbox, needs_reason=False, **wanted), as_json=as_json)
        return
    if out is not None:
        check_free(out)
    plan = planned(case, settings, mode=mode, sandbox=sandbox, **wanted)
    with agents_to_stderr(wanted=as_json):
        done = run_plan(plan, settings, strict=strict, timeout_s=timeout, max_turns=max_turns, unsafe=unsafe_replay)
    _show_done(plan, done, as_json=as_json)
    if out is not None:
        write_traces(done.replays, out)
        say(f"wrote {out}", err=True)
    statuses = {one.status for one in done.replays}
    unmeasured = statuses - {"passed"} or done.account.stopped
    context.exit(1 if "failed" in statuses else 3 if unmeasured else 0)


def _show_dry(plan: Plan, *, as_json: bool) -> None:
    """What would be replayed."""
    from evalkit.app.show_replays import dry_json, dry_lines
    from evalkit.trace.visible import visible

    if as_json:
        echo_json(dry_json(plan))
        return
    for line in dry_lines(plan):
        say(visible(line))


def _show_done(plan: Plan, done: Replayed, *, as_json: bool) -> None:
    """What the replays came to, each beside the incident, and what they cost."""
    from evalkit.app.replay import compared
    from evalkit.app.show_replays import (
        comparison_json,
        comparison_line,
        layer_lines,
        repeat_lines,
        replay_json,
        replay_lines,
    )
    from evalkit.app.show_runs import account_lines

    replays, shown = done.replays, [compared(plan, one) for one in done.replays]
    if as_json:
        echo_json([{**replay_json(one), **comparison_json(each)} for one, each in zip(replays, shown, strict=True)])
    else:
        for one, each in zip(replays, shown, strict=True):
            for line in [*replay_lines(one), comparison_line(each)]:
                say(line)
        for line in repeat_lines(replays, shown):
            say(line)
    for line in [*layer_lines(replays), *account_lines(done.account)]:
        say(line, err=as_json)


@click.command()
@click.argument("suite", type=SUITE, required=False)
@click.option("-n", "workers", default="auto", show_default=True, help="Replays at once: a number, or auto.")
@click.option("--samples", type=click.IntRange(1), help="Replays a case at most; what its policy takes by default.")
@click.option("--fixed", is_flag=True, help="Take all samples, however clear the first ones are.")
@click.option("--target", help='What to run: module:function, "command: node agent.mjs", or a URL.')
@click.option("--mode", type=click.Choice(SUITE_MODES), help="What answers; wins over the suite's.")
@click.option("--fault", multiple=True, help="As in replay; with --mode simulation. Wins over the suite's faults.")
@click.option("--what-if", multiple=True, metavar="NAME=THEN", help="As in replay; wins over the suite's.")
@click.option("--on-miss", multiple=True, metavar="RULE", help=ON_MISS)
@click.option("--base-url", help="The live model's OpenAI-compatible endpoint.")
@click.option("--seed", type=int)
@click.option("--sandbox/--no-sandbox", default=None, help="Replay in forks that the kernel confines (Linux).")
@click.option("--unsafe-replay", is_flag=True, default=None, help="In a sandbox even where layers are missing.")
@click.option("--budget", default="", metavar="LIMITS", help=BUDGET)
@click.option("--baseline", default="", help="Baseline file; the suite's own by default.")
@click.option("--executor", default="", help="serial, fork or xdist; chosen by the amount of work otherwise.")
@click.option("--filter", "filter_text", default="", metavar="EXPR", help=_FILTER)
@click.option(
    "--only-failing",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Only the cases that failed in this run, got worse where that blocks, or could not be told.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder; a new one under reports/ by default.")
@click.option("--resume", type=click.Path(path_type=Path), help="Finish this run instead of starting one.")
@click.option(
    "--raise-samples", type=click.IntRange(1), help="With --resume: this many samples a case; adds what is missing."
)
@click.option("--history/--no-history", default=None, help="Keep the run in the suite's history, or not.")
@click.option("--actor", default="", help="Who asks; EVALKIT_ACTOR or USER by default.")
@click.option("--reason", default="", help="Why, one sentence; it is kept.")
@as_json
@click.pass_context
def run(
    context: click.Context,
    /,
    suite: Path | None,
    workers: str,
    fixed: bool,
    base_url: str | None,
    fault: tuple[str, ...],
    what_if: tuple[str, ...],
    on_miss: tuple[str, ...],
    budget: str,
    baseline: str,
    executor: str,
    filter_text: str,
    only_failing: Path | None,
    out: Path | None,
    resume: Path | None,
    raise_samples: int | None,
    history: bool | None,
    actor: str,
    reason: str,
    as_json: bool,
    **overrides: Any,
) -> None:
    """Run a suite: every case as often as its policy needs, judged, with a report."""
    from evalkit.app.run import exit_code, resume_suite, run_suite
    from evalkit.app.show_runs import run_json, run_lines
    from evalkit.playback.endpoint.budget import NO_LIMITS, parse_budget

    if resume is None and raise_samples is not None:
        raise click.UsageError("--raise-samples needs --resume RUN")
    if resume is not None and suite is not None:
        raise click.UsageError("name a suite, or a run with --resume: the run knows its suite")
    if resume is not None:
        refuse_ignored(context, _RESUMING, "a run is finished as it was begun; for more samples pass --raise-samples N")
    count = worker_count(workers)
    limits = parse_budget(budget) if budget else NO_LIMITS
    with terminated_as_interrupted(), agents_to_stderr(wanted=as_json), ProgressLine() as progress:
        if resume is not None:
            done = resume_suite(
                resume, project(), workers=count, executor=executor, budget=limits, samples=raise_samples,
                actor=actor, on_progress=progress.show,
            )  # fmt: skip
        elif suite is not None:
            overrides |= _said(fixed=fixed, base_url=base_url, fault=fault, what_if=what_if, on_miss=on_miss)
            if budget:
                overrides["budget"] = limits.json()
            done = run_suite(
                suite, project(), workers=count, executor=executor, overrides=overrides, folder=out,
                baseline=baseline, actor=actor, reason=reason, only_failing=only_failing, filter_text=filter_text,
                history=history, on_progress=progress.show, on_warning=lambda line: say(line, err=True),
            )  # fmt: skip
        else:
            raise click.UsageError("name a suite, or a run with --resume")
    if as_json:
        echo_json(run_json(done))
    for line in run_lines(done):
        say(line, err=as_json)
    context.exit(int(exit_code(done)))


def _said(
    *, fixed: bool, base_url: str | None, fault: Sequence[str], what_if: Sequence[str], on_miss: Sequence[str]
) -> dict[str, Any]:
    """What these flags say otherwise than the suite, by the suite's keys."""
    from dataclasses import asdict

    from evalkit.playback.faults import parse_fault
    from evalkit.playback.miss_rules import parse_rule

    said: dict[str, Any] = {}
    if fixed:
        said["sequential"] = False
    if base_url:
        said["model"] = {"base_url": base_url}
    if fault:
        said["faults"] = [asdict(parse_fault(text)) for text in fault]
    if what_if:
        said["what_if"] = list(what_if)
    if on_miss:
        said["on_miss"] = [asdict(parse_rule(text)) for text in on_miss]
    return said


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> None:
    """Write a run's reports again, with the present baseline and lock; makes no calls."""
    from evalkit.app.run import report_run

    done = report_run(run, project())
    say(str(done.folder / "report.html"))


def worker_count(text: str) -> int | None:
    """What ``-n`` says; None for auto."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"wanted a number or auto, got {text!r}", param_hint="-n")
    return int(text)
