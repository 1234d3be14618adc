"""Commands on the release decision: gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit.cli.common import as_json, echo_json, project, say

__all__ = ["gate"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--against", default="", help="Compare the gate lock with a git reference, such as origin/main.")
@click.option(
    "--policy", default="", metavar="POLICY",
    help="Another policy: its kind, or kind=min_rate,min_rate=0.9.",
)  # fmt: skip
@click.option("--policy-file", type=click.Path(path_type=Path), help="A suite or TOML file with another [policy].")
@click.option(
    "--format", "wanted", type=click.Choice(["text", "json", "markdown", "github"]), default="text", show_default=True,
    help="github: annotations of GitHub Actions.",
)  # fmt: skip
@click.option("--report", is_flag=True, help="Write the run's reports again, with this decision.")
@as_json
@click.pass_context
def gate(
    context: click.Context,
    run: Path,
    against: str,
    policy: str,
    policy_file: Path | None,
    wanted: Any,
    report: bool,
    as_json: bool,
) -> None:
    """Decide a release from a finished run; makes no calls.

    0 passed, 1 blocked, 3 inconclusive, 4 a hash or the lock does not hold.
    """
    from evalkit.app.gate import gate_exit_code, gate_run
    from evalkit.app.gate_policy import policy_of_file, policy_of_text
    from evalkit.app.show_gate import gate_json, gate_lines

    if policy and policy_file:
        raise click.UsageError("give --policy or --policy-file, not both")
    other = policy_of_text(policy) if policy else None if policy_file is None else policy_of_file(policy_file)
    settings = project()
    done = gate_run(run, settings, against=against, policy=other, report=report)
    if as_json or wanted == "json":
        echo_json(gate_json(done))
        wanted = "text"
        as_json = True
    for line in gate_lines(done, wanted, settings):
        say(line, err=as_json)
    context.exit(int(gate_exit_code(done.decision)))
