"""Commands on baselines: set, bless, show, compare."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.common import as_json, echo_json, options, print_table, project, say

__all__ = ["baseline"]

_decided = options(
    click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option("--actor", default="", help="Who decides this; EVALKIT_ACTOR or USER by default."),
    click.option("--reason", required=True, help="Why these runs are the measure."),
    click.option("--out", type=click.Path(path_type=Path), help="The file; beside the suite by default."),
)


def _warn(line: str) -> None:
    say(line, err=True)


@click.group()
def baseline() -> None:
    """What later runs are compared with."""


@baseline.command("set")
@_decided
def set_(runs: tuple[Path, ...], actor: str, reason: str, out: Path | None) -> None:
    """Make finished runs their suite's first baseline; several are pooled."""
    from evalkit.app.baselines import set_baseline

    say(f"wrote {set_baseline(runs, project(), actor=actor, reason=reason, out=out, on_warning=_warn)}")


@baseline.command()
@_decided
def bless(runs: tuple[Path, ...], actor: str, reason: str, out: Path | None) -> None:
    """Accept that the measure changes: finished runs take the baseline's place, which keeps what was there before."""
    from evalkit.app.baselines import bless_baseline

    say(f"wrote {bless_baseline(runs, project(), actor=actor, reason=reason, out=out, on_warning=_warn)}")


@baseline.command("show")
@click.argument("suite")
@as_json
def show_(suite: str, as_json: bool) -> None:
    """A suite's baseline: SUITE is its name, its file, or a baseline file."""
    from evalkit.app.baselines import show_baseline
    from evalkit.app.show_baselines import BASELINE_HEAD, baseline_json, baseline_lines, baseline_rows

    found = show_baseline(suite, project())
    if as_json:
        echo_json(baseline_json(found))
        return
    for line in baseline_lines(found.info):
        say(line)
    print_table(BASELINE_HEAD, baseline_rows(found), flexible=0)


@baseline.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--with", "other", default="", help="A suite, a baseline file, or another run; the run's own by default.")
@as_json
@click.pass_context
def compare(context: click.Context, run: Path, other: str, as_json: bool) -> None:
    """A finished run against a baseline; makes no calls.

    0 nothing is shown to be worse, 1 a case is, 3 nothing could be compared.
    """
    from evalkit.app.baselines import compare_run
    from evalkit.app.show_baselines import (
        COMPARISON_HEAD,
        comparison_exit_code,
        comparison_json,
        comparison_lines,
        comparison_rows,
    )

    found = compare_run(run, project(), baseline=other)
    if as_json:
        echo_json(comparison_json(found))
    else:
        print_table(COMPARISON_HEAD, comparison_rows(found), flexible=0)
    for line in comparison_lines(found):
        say(line, err=as_json)
    context.exit(comparison_exit_code(found))
