"""A report's history: the run at hand is a night like those before it."""

from __future__ import annotations

from dataclasses import replace

from evalkit.report.model import Background
from evalkit.suite.model import Served
from evalkit.verdict.night import night_of
from tests.report.build import MANIFEST, RunParts


def run_after(nights: int, letters: str = "p" * 20) -> RunParts:
    """A run of one case, as `letters` say, after nights of the same suite with the same model, where all passed."""
    before = RunParts().add("refund-twice", "p" * 20)
    asked_of_model(before)
    night = night_of(MANIFEST, before.samples, before.verdicts, before.decision)
    parts = RunParts().add("refund-twice", letters)
    asked_of_model(parts)
    parts.background = Background(
        [replace(night, run_id=f"run-{at}", started_at=f"2026-02-{at + 1:02d}T04:00:00Z") for at in range(nights)]
    )
    return parts


def asked_of_model(parts: RunParts) -> None:
    """Lets every sample of a run be one that a live model answered."""
    served = Served(models=("gpt-5",), fingerprints=("fp_1",))
    parts.samples = {id: [replace(one, served=served) for one in samples] for id, samples in parts.samples.items()}


def test_a_run_like_the_nights_before_has_nothing_new() -> None:
    """Same suite, same model: neither the table nor the sentence about the fall says that something else changed."""
    history = run_after(9, "f" * 20).model().history
    assert history.nights[0].here
    assert history.nights[0].changed
    assert history.nights[0].new == ""
    assert "new then" not in " ".join([*history.sentences, *(said for _, said in history.shifts)])


def test_what_a_run_has_otherwise_than_the_night_before_is_told() -> None:
    """Another model, and that alone."""
    parts = run_after(3)
    nights = [replace(night, models=("gpt-4",)) for night in parts.background.nights]
    parts.background = Background(nights)
    assert parts.model().history.nights[0].new == "model gpt-4 → gpt-5"
