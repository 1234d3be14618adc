"""Commands on raw evidence and on forgetting: evidence, retention, forget."""

from __future__ import annotations

import os
from pathlib import Path

import click

from evalkit.cli.common import as_json, echo_json, print_table, project, say
from evalkit.errors import ExitCode, InputError
from evalkit.trace.visible import visible

__all__ = ["evidence", "forget", "retention"]

_actor = click.option("--actor", default="", help="Who does this; EVALKIT_ACTOR or USER by default.")
_reason = click.option("--reason", required=True, help="Why, one sentence. It is kept: name no subject.")
_identity = click.option(
    "--identity", type=click.Path(path_type=Path), help="The age identity file of one of the recipients."
)


@click.group()
def evidence() -> None:
    """The raw traces that are kept, encrypted, apart from the repository. Every look is audited."""


@evidence.command("list")
@_actor
@as_json
def list_(actor: str, as_json: bool) -> None:
    """What is kept, for how long, and which cases were made of it."""
    from evalkit.app.evidence import evidence_folder, list_evidence, lost_evidence, nothing_kept, unfinished_evidence
    from evalkit.app.show_evidence import listed_json

    settings = project()
    found = list_evidence(settings, actor=actor)
    for lost in lost_evidence(settings):
        say(f"evidence {lost} can't be read: its wrapped key is gone, and nobody meant to destroy it", err=True)
    for half in unfinished_evidence(evidence_folder(settings)):
        say(f"evidence {half} is half destroyed: evalkit retention apply ends it", err=True)
    if nothing := nothing_kept(settings):
        say(nothing, err=True)
    if as_json:
        echo_json([listed_json(one) for one in found])
        return
    if not found:
        say("no raw evidence is kept: evalkit ingest TRACE --keep-raw")
        return
    rows = [
        [one.evidence.id, one.evidence.kept_at, one.evidence.effective, str(one.evidence.size_bytes),
         ", ".join(one.cases)] for one in found
    ]  # fmt: skip
    print_table(["evidence", "kept", "retention", "bytes", "cases"], rows, flexible=4)


@evidence.command()
@click.argument("evidence_id", metavar="ID")
@_identity
@click.option("--out", type=click.Path(path_type=Path), help="Write the raw native trace there; it must not exist.")
@click.option("--reason", default="", help="Why it is looked at; kept in the audit log.")
@_actor
def show(evidence_id: str, identity: Path | None, out: Path | None, reason: str, actor: str) -> None:
    """One raw trace, decrypted: its lines, or the native file with --out."""
    from evalkit.app.evidence import open_evidence

    if identity is None:
        raise click.UsageError("--identity FILE is needed: only the recipients may read evidence")
    if out is not None and out.exists():
        raise InputError("the file exists already", str(out), "name a new file")
    raw = open_evidence(evidence_id, identity, project(), actor=actor, reason=reason)
    if out is None:
        for line in raw.decode("utf-8").splitlines():
            say(visible(line))
        return
    with open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(raw)
    say(f"wrote {out}: raw and in the clear; evalkit inspect reads it; delete it when you are done")


@evidence.command()
@click.argument("evidence_id", metavar="ID")
@_actor
@_reason
def hold(evidence_id: str, actor: str, reason: str) -> None:
    """Put evidence on legal hold: neither forgetting nor retention destroys it."""
    from evalkit.app.evidence import hold_evidence

    say(f"evidence {hold_evidence(evidence_id, project(), actor=actor, reason=reason).id} is on legal hold")


@evidence.command()
@click.argument("evidence_id", metavar="ID")
@_actor
@_reason
def release(evidence_id: str, actor: str, reason: str) -> None:
    """End a legal hold; the retention class from before counts again."""
    from evalkit.app.evidence import release_evidence

    found = release_evidence(evidence_id, project(), actor=actor, reason=reason)
    say(f"evidence {found.id} is kept as {found.retention}, since {found.kept_at}")


@click.group()
def retention() -> None:
    """How long evidence is kept."""


@retention.command("apply")
@click.option("--dry-run", is_flag=True, help="Show what would be destroyed, destroy nothing.")
@_actor
@as_json
def apply_(dry_run: bool, actor: str, as_json: bool) -> None:
    """Destroy the evidence that is past its retention class; legal holds stay. What was half destroyed goes as well."""
    from evalkit.app.evidence import apply_retention, nothing_kept
    from evalkit.app.show_evidence import evidence_json

    settings = project()
    found = apply_retention(settings, actor=actor, dry_run=dry_run)
    if as_json:
        past = [evidence_json(one) for one in found.past]
        echo_json({"done": not dry_run, "evidence": past, "unfinished": [*found.unfinished]})
    word = "to destroy" if dry_run else "destroyed"
    for one in found.past:
        say(f"{word}: evidence {one.id} ({one.effective}, kept {one.kept_at})", err=as_json)
    for half in found.unfinished:
        say(f"{word}: evidence {half}, which was half destroyed", err=as_json)
    say(f"{len(found.past)} past their time", err=as_json)
    if nothing := nothing_kept(settings):
        say(nothing, err=True)


@click.command()
@click.argument("subjects", nargs=-1, required=True, metavar="SUBJECT...")
@_actor
@_reason
@click.option("--dry-run", is_flag=True, help="Show what would go, change nothing.")
@_identity
@as_json
def forget(
    subjects: tuple[str, ...], actor: str, reason: str, dry_run: bool, identity: Path | None, as_json: bool
) -> None:
    """Remove a person, account or number everywhere: SUBJECT is a name, e-mail, number or id; give all of one person.

    Raw evidence is destroyed, cases get a new version without the subject and lose the old ones, runs that hold the
    subject are removed. A tombstone stays each time. With --identity the raw traces are read too, not only their index.
    Exit code 3: something was made with another project key, and was not searched.
    """
    from evalkit.app.evidence import read_identities
    from evalkit.app.forget import forget_subject
    from evalkit.app.show_evidence import forgetting_json, forgetting_lines

    identities = () if identity is None else read_identities(identity)
    found = forget_subject(
        subjects, project(), actor=actor, reason=reason, identities=identities, dry_run=dry_run
    )  # fmt: skip
    if as_json:
        echo_json(forgetting_json(found))
    for line in forgetting_lines(found):
        say(line, err=as_json)
    click.get_current_context().exit(ExitCode.INCONCLUSIVE if found.strange else ExitCode.DONE)
