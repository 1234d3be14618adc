"""`evalkit inspect RUN --case ID`: one sample's replay, as a run kept it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit.errors import InputError
from evalkit.suite.model import Sample
from evalkit.suite.results import read_samples, read_traces
from evalkit.trace.model import Trace

__all__ = ["kept_replay"]


def kept_replay(folder: Path, case_id: str, number: int | None = None) -> Trace:
    """The trace of a sample.

    Args:
        number: of the sample, from 1 as in the report; the first kept one that did not pass, else the first kept one.

    Raises:
        InputError: there is no such run, case or sample, or its replay was not kept.
    """
    samples = read_samples(folder)
    own = samples.get(case_id)
    if not own:
        known = ", ".join(sorted(samples)[:5])
        raise InputError(f"the run has no case {case_id}", str(folder), f"name one of its cases, such as {known}")
    wanted = _wanted(own, number, folder)
    kept = read_traces(folder, {sample.trace for sample in wanted if sample.trace})
    for sample in wanted:
        if sample.trace in kept:
            return kept[sample.trace]
    what = f"sample {number}" if number else "any sample"
    cure = 'keep_traces = "all" in the suite keeps all'
    raise InputError(f"the replay of {what} of case {case_id} was not kept", str(folder), cure)


def _wanted(samples: Sequence[Sample], number: int | None, folder: Path) -> list[Sample]:
    if number is None:
        return sorted(samples, key=lambda sample: sample.outcome == "passed")
    found = [sample for sample in samples if sample.index == number - 1]
    if not found:
        raise InputError(f"there is no sample {number} among {len(samples)}", str(folder), "see the report's table")
    return found
