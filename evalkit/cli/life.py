"""Commands on a case's life: edit, review, promote, retire."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.common import project, say
from evalkit.errors import EvalkitError, UsageError

if TYPE_CHECKING:
    from evalkit.case.model import Case
    from evalkit.check.model import Check, CheckResult
    from evalkit.trace.model import Trace

__all__ = ["edit", "promote", "retire", "review"]

_actor = click.option("--actor", default="", help="Who decides this; EVALKIT_ACTOR or USER by default.")
_reason = click.option("--reason", required=True, help="Why, one sentence.")
_passing = click.option("--passing", multiple=True, help="A healthy run, which must pass; may be given several times.")
_KEYS = "[a]ccept, [d]rop, [o]bserve only, [m]ust hold, [e]dit, [q]uit"


@click.command()
@click.argument("case")
@click.option("--checks", "file", type=click.Path(path_type=Path), help="JSON list of checks.")
@click.option("--volatile", multiple=True, metavar="TOOL=/PATH", help="An argument that matching is to leave out.")
@click.option("--match", multiple=True, metavar="TOOL=/PATH", help="A volatile argument that is to be matched again.")
@click.option("--on-miss", multiple=True, metavar="RULE", help="How misses are answered, as in replay; all the rules.")
@_actor
@_reason
def edit(
    case: str,
    file: Path | None,
    volatile: tuple[str, ...],
    match: tuple[str, ...],
    on_miss: tuple[str, ...],
    actor: str,
    reason: str,
) -> None:
    """Replace a case's checks or rules for misses, or say which arguments are volatile, as a new version.

    The incident must still fail.
    """
    from evalkit.app.life import edit_checks, edit_misses
    from evalkit.app.show_cases import read_json
    from evalkit.app.volatile import edit_volatile
    from evalkit.playback.miss_rules import parse_rule

    settings = project()
    if [file is not None, bool(volatile or match), bool(on_miss)].count(True) != 1:
        raise click.UsageError("pass one of --checks, --on-miss, or --volatile and --match")
    if file is not None:
        path = edit_checks(case, read_json(file), settings, actor=actor, reason=reason, where=str(file))
    elif on_miss:
        path = edit_misses(case, [parse_rule(text) for text in on_miss], settings, actor=actor, reason=reason)
    else:
        path = edit_volatile(case, settings, add=volatile, drop=match, actor=actor, reason=reason)
    say(f"wrote {path}")


@click.command()
@click.argument("case")
@click.option("--accept-all", is_flag=True, help="Agree to all checks as they are.")
@click.option("--drop", multiple=True, metavar="ID", help="Leave a check out, and agree to the others.")
@click.option("--observe", multiple=True, metavar="ID", help="Only observe a check, and agree to the others.")
@click.option("--checks", "file", type=click.Path(path_type=Path), help="JSON list: the checks agreed to.")
@_passing
@_actor
@click.option("--reason", default="", help="Why, one sentence; asked for otherwise.")
def review(
    case: str,
    accept_all: bool,
    drop: tuple[str, ...],
    observe: tuple[str, ...],
    file: Path | None,
    passing: tuple[str, ...],
    actor: str,
    reason: str,
) -> None:
    """Read a case's checks and agree to them, as a new version: one by one, or by the options."""
    from evalkit.app.life import checks_from, checks_without, review_case
    from evalkit.app.show_cases import read_json
    from evalkit.case.store import find_case, read_case

    settings = project()
    found = read_case(find_case(case, settings.cases))
    if file is not None and (drop or observe or accept_all):
        raise click.UsageError("--checks states all checks; it goes with none of --accept-all, --drop, --observe")
    if file is not None:
        checks = checks_from(read_json(file), found.id, str(file))
    elif drop or observe or accept_all:
        checks = checks_without(found, drop, observe)
    else:
        checks = _asked(found)
        reason = reason or _prompt(found, "why (one sentence)")
    if not reason.strip():
        raise click.UsageError("say why: --reason")
    path = review_case(found.id, settings, actor=actor, reason=reason, checks=checks, passing=_traces(passing))
    say(f"{found.id} is reviewed, with {len(checks)} checks: wrote {path}")


@click.command()
@click.argument("case")
@_passing
@click.option("--replay", "count", type=click.IntRange(1), help="Replay the mended target so often; one must pass.")
@click.option("--target", default="", help="The mended agent, as in replay.")
@click.option("--mode", type=click.Choice(["exact", "live-model"]), default="exact", show_default=True)
@click.option("--base-url", default=None, help="The live model's OpenAI-compatible endpoint.")
@_actor
@_reason
def promote(
    case: str,
    passing: tuple[str, ...],
    count: int | None,
    target: str,
    mode: Any,
    base_url: str | None,
    actor: str,
    reason: str,
) -> None:
    """Make a reviewed case a permanent gate: it is locked, and blocks releases from now on.

    It must fail on its incident, and something healthy must pass it: a run given at ingest, --passing, or --replay.
    """
    from evalkit.app.life import Replays, promote_case
    from evalkit.app.show_cases import idle_words
    from evalkit.case.store import read_case

    replays = Replays(count or 1, target, mode, base_url) if count or target else None
    path = promote_case(case, project(), actor=actor, reason=reason, passing=_traces(passing), replays=replays)
    say(f"{case} is permanent: wrote {path}")
    if idle := idle_words(read_case(path)):
        say(f"weak: {idle}", err=True)


@click.command()
@click.argument("case")
@_actor
@_reason
def retire(case: str, actor: str, reason: str) -> None:
    """Take a case out of the suites. It stays in the library, with the reason."""
    from evalkit.app.life import retire_case

    path = retire_case(case, project(), actor=actor, reason=reason)
    say(f"{case} is retired: wrote {path}")


def _traces(sources: Sequence[str]) -> list[Trace]:
    from evalkit.trace.read import load_traces

    return [trace for source in sources for trace in load_traces(source)]


def _asked(case: Case) -> list[Check]:
    """The checks that somebody at the terminal agrees to.

    Raises:
        UsageError: they quit, or nobody answers; nothing was changed.
    """
    from evalkit.app.life import on_incident
    from evalkit.app.show_cases import review_lines

    for line in review_lines(case):
        say(line)
    agreed: list[Check] = []
    for number, result in enumerate(on_incident(case), 1):
        say(f"\ncheck {number} of {len(case.checks)}")
        agreed += _decided(case, result)
    return agreed


def _decided(case: Case, result: CheckResult) -> list[Check]:
    """What becomes of one check."""
    from evalkit.app.show_cases import check_lines

    while True:
        for line in check_lines(case, result):
            say(line)
        answer = _prompt(case, _KEYS).strip().lower()[:1]
        if answer == "q":
            raise UsageError("quit: nothing was changed", f"case {case.id}")
        if answer == "d":
            return []
        if answer == "e":
            result = _edited(case, result)
        elif answer in _ANSWERS:
            return [_ANSWERS[answer](result.check)]


_ANSWERS: dict[str, Callable[[Check], Check]] = {
    "a": lambda check: check,
    "o": lambda check: replace(check, gating=False),
    "m": lambda check: replace(check, gating=True),
}


def _edited(case: Case, result: CheckResult) -> CheckResult:
    """A check as it comes back from the editor, judged; as it was, if that is none."""
    from evalkit.app.life import checks_from, on_incident
    from evalkit.check.model import check_json

    text = click.edit(json.dumps(check_json(result.check), indent=2, ensure_ascii=False), extension=".json")
    if text is None:
        return result
    try:
        checks = checks_from([json.loads(text)], case.id, "the editor")
        return on_incident(replace(case, checks=tuple(checks)))[0]
    except (ValueError, EvalkitError) as error:
        say(f"that is no check: {error}")
        return result


def _prompt(case: Case, text: str) -> str:
    try:
        return str(click.prompt(text, default="", show_default=False))
    except click.Abort:
        cure = f"evalkit review {case.id} --accept-all --reason WHY, or --drop, --observe, --checks"
        raise UsageError("nobody answered: nothing was changed", f"case {case.id}", cure) from None
