"""Commands on the case library: list, show, diff, history, check."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.common import as_json, echo_json, print_table, project, say

__all__ = ["check", "diff", "history", "list_", "show"]


@click.command("list")
@as_json
def list_(as_json: bool) -> None:
    """The cases: id, version, state, signature, title."""
    from evalkit.suite.select import list_cases

    cases = list(list_cases(project().cases))
    if as_json:
        echo_json([{"id": c.id, "version": c.version, "state": c.state, "signature": c.signature, "title": c.title,
                    "tags": list(c.tags), "digest": c.digest} for c in cases])  # fmt: skip
        return
    if not cases:
        say("no cases yet: evalkit ingest incident.trace")
        return
    rows = [[c.id, f"v{c.version}", c.state, c.title] for c in cases]
    print_table(["case", "version", "state", "title"], rows, flexible=3)


@click.command()
@click.argument("case")
@as_json
def show(case: str, as_json: bool) -> None:
    """One case: CASE is an id, id@version, or a file."""
    from evalkit.app.show_cases import case_json
    from evalkit.case.store import find_case, read_with_digest
    from evalkit.case.view import plain_view

    found, digest = read_with_digest(find_case(case, project().cases))
    if as_json:
        echo_json(case_json(found, digest))
    else:
        say(plain_view(found))


@click.command()
@click.argument("left")
@click.argument("right")
@as_json
def diff(left: str, right: str, as_json: bool) -> None:
    """What differs between two cases, versions (id@1 id@2) or traces.

    RIGHT may hold several traces, as the replays of a case do: each is compared with LEFT, a case or a trace.
    """
    from evalkit.app.show_cases import diff_lines, difference_json

    settings = project()
    if as_json:
        found = difference_json(left, right, settings)
        echo_json(found[0] if len(found) == 1 else found)
        return
    for line in diff_lines(left, right, settings):
        say(line)


@click.command()
@click.argument("case")
@as_json
def history(case: str, as_json: bool) -> None:
    """A case's versions, oldest first."""
    from evalkit.app.life import history as versions

    found = versions(case, project())
    if as_json:
        echo_json([{"version": v.number, "digest": v.digest, "state": v.case.state, "at": v.case.life[-1].at,
                    "actor": v.case.life[-1].actor, "reason": v.case.life[-1].reason,
                    "proved": v.case.life[-1].proved} for v in found])  # fmt: skip
        return
    rows = [
        [f"v{v.number}", v.case.state, v.case.life[-1].at, v.case.life[-1].actor, v.case.life[-1].reason] for v in found
    ]
    print_table(["version", "state", "when", "who", "why"], rows, flexible=4)


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--write-views", is_flag=True, help="Write the case.md files that are out of date.")
@click.option("--write-lock", is_flag=True, help="Write the gate lock anew, after a merge of two.")
@click.option("--part-surrogates", is_flag=True, help="Write new versions where two values share a surrogate.")
@as_json
@click.pass_context
def check(
    context: click.Context,
    path: Path | None,
    write_views: bool,
    write_lock: bool,
    part_surrogates: bool,
    as_json: bool,
) -> None:
    """Whether the case library still is what was written."""
    from evalkit.app import parting
    from evalkit.app.checkup import check_library, checkup_exit_code, write_stale_views
    from evalkit.app.keys import policy_of
    from evalkit.app.locks import rewrite_lock

    settings = project()
    cases = path or settings.cases
    if write_lock:
        say(f"wrote {rewrite_lock(cases)}", err=as_json)
    if part_surrogates:
        for written in parting.part_surrogates(cases, settings):
            say(f"wrote {written}", err=as_json)
    if write_views:
        write_stale_views(cases)
    checked, problems = check_library(cases, policy_of(settings))
    if as_json:
        echo_json(
            {"checked": checked, "problems": [{"kind": p.kind, "where": p.where, "what": p.sentence} for p in problems]}
        )
    for problem in problems:
        say(f"{problem.where}: {problem.sentence}", err=True)
    say(f"{checked} case files checked, {len(problems)} problems", err=as_json)
    context.exit(int(checkup_exit_code(problems)))
