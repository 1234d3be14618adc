"""The command that compares two arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit.cli.agent_output import agents_to_stderr
from evalkit.cli.common import SUITE, as_json, echo_json, project, refuse_ignored, say, terminal_width
from evalkit.cli.model_options import BUDGET
from evalkit.cli.progress import ProgressLine
from evalkit.cli.runs import worker_count
from evalkit.cli.terminated import terminated_as_interrupted

__all__ = ["ab"]

_ARM = "What an arm has otherwise than the suite: prompt=FILE, model, temperature, base-url, target, extra_body, mode."
_PRIMARY = ["pass_rate", "cost", "latency", "steps", "tokens"]
_FOLDER = click.Path(path_type=Path)
_OWN = {"runs", "resume", "fail_if_worse", "as_json"}
"""Options that mean something in each of the three ways."""


@click.command()
@click.argument("suite", type=SUITE, required=False)
@click.option("--a", "a", multiple=True, metavar="KEY=VALUE", help=_ARM)
@click.option("--b", "b", multiple=True, metavar="KEY=VALUE", help="The same of the other arm.")
@click.option("--from", "runs", nargs=2, type=_FOLDER, metavar="RUN_A RUN_B", help="Compare two finished runs instead.")
@click.option("--samples", type=click.IntRange(1), help="Replays a case and arm; the suite's, else 10.")
@click.option("--blocks", type=click.IntRange(1), default=4, show_default=True, help="A B B A blocks.")
@click.option("--primary", type=click.Choice(_PRIMARY), default="pass_rate", show_default=True, help="What decides.")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("-n", "workers", default="auto", show_default=True, help="Replays at once: a number, or auto.")
@click.option("--seed", type=int)
@click.option("--budget", default="", metavar="LIMITS", help=f"{BUDGET} Of both arms together.")
@click.option("--executor", default="", help="serial, fork or xdist; chosen by the amount of work otherwise.")
@click.option("--out", type=_FOLDER, help="The folder; a new one under reports/ by default.")
@click.option("--resume", type=_FOLDER, help="Finish this A/B run instead of starting one.")
@click.option("--fail-if-worse", is_flag=True, help="Exit code 1 where B is shown to be worse.")
@click.option("--actor", default="", help="Who asks; EVALKIT_ACTOR or USER by default.")
@click.option("--reason", default="", help="Why, one sentence; it is kept.")
@as_json
@click.pass_context
def ab(
    context: click.Context,
    /,
    suite: Path | None,
    runs: tuple[Path, Path] | None,
    resume: Path | None,
    fail_if_worse: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Compare two arms of a suite: in turns, case by case.

    --a and --b may be given several times. Exit code 0 whatever the verdict; with --fail-if-worse 1 where B is shown to
    be worse; 3 where nothing could be compared, or the budget ended it.
    """
    from evalkit.app.ab import ab_exit_code
    from evalkit.app.show_ab import ab_lines, ab_run_json

    if sum(bool(given) for given in (suite, runs, resume)) != 1:
        raise click.UsageError("name one of: a suite file, two runs with --from, an A/B run with --resume")
    with agents_to_stderr(wanted=as_json):
        done = _compared(context, runs, wanted) if runs else _run(context, suite, resume, wanted)
    if as_json:
        echo_json(ab_run_json(done))
    for line in ab_lines(done, terminal_width()):
        say(line, err=as_json)
    context.exit(int(ab_exit_code(done, fail_if_worse=fail_if_worse)))


def _compared(context: click.Context, runs: tuple[Path, Path], wanted: dict[str, Any]) -> Any:
    from evalkit.app.ab import ab_of_runs
    from evalkit.app.show_ab import write_ab

    refuse_ignored(context, {*_OWN, "primary", "alpha", "out"}, "--from compares what there is")
    done = ab_of_runs(*runs, project(), primary=wanted["primary"], alpha=wanted["alpha"])
    if wanted["out"] is not None:
        write_ab(done, wanted["out"])
    return done


def _run(context: click.Context, suite: Path | None, resume: Path | None, wanted: dict[str, Any]) -> Any:
    from evalkit.app.ab import ab_resume, ab_suite
    from evalkit.app.ab_arms import parse_arm
    from evalkit.playback.endpoint.budget import NO_LIMITS, parse_budget

    limits = parse_budget(wanted["budget"]) if wanted["budget"] else NO_LIMITS
    working = {"workers": worker_count(wanted["workers"]), "executor": wanted["executor"], "budget": limits}
    with terminated_as_interrupted(), ProgressLine() as progress:
        if resume is not None:
            refuse_ignored(context, {*_OWN, "workers", "executor", "budget"}, "--resume goes on with what was begun")
            return ab_resume(resume, project(), **working, on_progress=progress.show)
        assert suite is not None
        named = {name: wanted[name] for name in ("samples", "blocks", "primary", "alpha", "actor", "reason")}
        return ab_suite(
            suite, project(), parse_arm(wanted["a"], "--a"), parse_arm(wanted["b"], "--b"), **named, **working,
            folder=wanted["out"], overrides={"seed": wanted["seed"]}, on_progress=progress.show,
        )  # fmt: skip
