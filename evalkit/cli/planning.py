"""Commands for planning: power."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit.cli.common import SUITE, as_json, echo_json, project, say
from evalkit.errors import ExitCode

__all__ = ["power"]

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("suite", required=False, type=SUITE)
@click.option("--samples", type=click.IntRange(1), help="Samples a case; the suite's, else 20.")
@click.option("--rate", type=click.FloatRange(0, 1, min_open=True), help="The pass rate before; 0.95.")
@click.option("--drop", type=click.FloatRange(0, 1, min_open=True), help="The drop that must not be missed; 0.2.")
@click.option("--baseline-samples", type=click.IntRange(1), help="Samples of a baseline that exists.")
@click.option("--alpha", type=_SHARE, help="The error of blocking what is as good as it was; the suite's, else 0.05.")
@click.option("--power", type=_SHARE, help="The chance of seeing the drop; 0.8.")
@click.option("--beta", type=_SHARE, help="The error of passing a bad case without a baseline; 0.05.")
@click.option("--good", "p_good", type=_SHARE, help="A pass rate that must pass; 0.99.")
@click.option("--bad", "p_bad", type=_SHARE, help="A pass rate that must fail; 0.9.")
@click.option("--batch", type=click.IntRange(1), help="Samples between two looks; 5.")
@click.option("--gates", type=click.IntRange(1), help="Permanent cases that share alpha; 1.")
@as_json
@click.pass_context
def power(context: click.Context, /, suite: Path | None, as_json: bool, **asked: Any) -> None:
    """What so many samples can tell, before they are run: drops that show, samples that are needed.

    With a SUITE, its samples and policies are asked about; exit code 3 where they are too few for a policy.
    """
    from evalkit.app.power import PowerQuestion, foresee_suite, plan_power, power_json, power_lines

    given = {name: value for name, value in asked.items() if value is not None}
    question, own = (PowerQuestion(**given), None) if suite is None else foresee_suite(suite, project(), given)
    plan = plan_power(question, own)
    if as_json:
        echo_json(power_json(plan))
    else:
        for line in power_lines(plan):
            say(line)
    if own is not None and own.underpowered:
        context.exit(ExitCode.INCONCLUSIVE)
