"""What holds a release whatever the samples say, as far as a run alone tells it; and why cases may not be in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.app.run_model import Taken
from evalkit.playback.model import UNSAFE
from evalkit.suite.model import Manifest, Selection
from evalkit.suite.select import selection_words
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import distinct

__all__ = ["holds_of", "left_out_by"]


def holds_of(run: Taken, verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, str]]:
    """What blocks: (case id or what it is about, sentence)."""
    yield from _unsafe(run.manifest, verdicts)
    yield from _skipped(run, verdicts)


def left_out_by(manifest: Manifest, select: Selection) -> str:
    """Why cases may not be in the run; empty where it took every case."""
    if expression := manifest.part.get("filter"):
        return f"the run was limited to --filter {expression}"
    if run_id := manifest.part.get("only_failing"):
        return f"the run was limited to what failed in {run_id}"
    named = selection_words(select)
    return f"the suite selects {named}" if named else ""


def _unsafe(manifest: Manifest, verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, str]]:
    """A run in which an agent could reach the machine says nothing that a release may hang on."""
    unsafe = [layer for layer in manifest.layers if layer.startswith(UNSAFE)]
    permanent = sum(count for verdict, count in distinct(verdicts) if verdict.permanent) if unsafe else 0
    for layer in unsafe if permanent else ():
        cure = "run it where the layers hold, or without a sandbox"
        yield "sandbox", f"{permanent} permanent cases ran in an {layer}; {cure}"


def _skipped(run: Taken, verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, str]]:
    """Permanent cases that the run names and holds no sample of, though nothing stopped it."""
    for verdict in () if run.account.stopped else verdicts:
        if verdict.permanent and not run.samples.get(verdict.case_id):
            yield verdict.case_id, "is a permanent gate and was skipped: the run holds no sample of it"
