"""What became of a run's cases since it was made: retired, or gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.case.model import LifeEvent
from evalkit.case.store import case_versions, read_case
from evalkit.suite.case_ref import CaseRef
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import changed

__all__ = ["Since", "retired_since"]


@dataclass(frozen=True, slots=True)
class Since:
    """What is otherwise now.

    Attributes:
        retired: see `retired_since`.
        gone: cases that nobody can judge any more: id, version and state when they were run.
    """

    retired: Mapping[str, LifeEvent | None]
    gone: Sequence[tuple[str, int, str]]

    def released(self, verdicts: Sequence[CaseVerdict]) -> Sequence[CaseVerdict]:
        """The verdicts, where those that were retired since are no gates."""
        if not self.retired:
            return verdicts
        return changed(verdicts, lambda one: replace(one, permanent=False) if self.retired.get(one.case_id) else one)

    def holds(self) -> Iterator[tuple[str, str]]:
        """What blocks: gates that nobody retired, or that may have been deleted to be rid of them."""
        for case_id, event in self.retired.items():
            if event is None:
                yield case_id, "was a permanent gate when it was run, is none any more, and nobody retired it"
        for case_id, version, state in self.gone:
            if state == "permanent":
                yield case_id, f"is a permanent gate, and {_gone(version)}"

    def told(self) -> Iterator[str]:
        """What blocks nothing."""
        for case_id, event in self.retired.items():
            if event is not None:
                yield f"{case_id} was retired after it was run, by {event.actor} at {event.at}: {event.reason}"
        for case_id, version, state in self.gone:
            if state != "permanent":
                yield f"{case_id} was run, and {_gone(version)}"

    def elsewhere(self, cases: Path) -> Iterator[str]:
        """Where all is gone, the command may have been called in another folder."""
        if self.gone and not cases.is_dir():
            yield f"there is no folder {cases}: is this the project's?"


def retired_since(verdicts: Sequence[CaseVerdict], listed: Iterable[CaseRef]) -> dict[str, LifeEvent | None]:
    """The cases that were permanent when they were run and are not now, with their retirement, if there was any.

    One that was reviewed again after it is none of the release's gates either, until it is promoted.
    """
    asked = {verdict.case_id: verdict.version for verdict in verdicts if verdict.permanent}
    found: dict[str, LifeEvent | None] = {}
    for case in listed:
        if case.state != "permanent" and case.id in asked:
            ran = read_case(dict(case_versions(Path(case.path).parent))[asked[case.id]])
            since = reversed(read_case(case.path).life[len(ran.life) :])
            found[case.id] = next((event for event in since if event.state == "retired"), None)
    return found


def _gone(version: int) -> str:
    return f"version {version} of it is gone: restore it, or run the suite again"
