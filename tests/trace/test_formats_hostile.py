"""Damaged documents of every format: read, or refused with a typed error, and what is read can be used.

`EVALKIT_FUZZ_EXAMPLES` sets how many damaged documents are made of each sample; see docs/extending.md.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError, InputError
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from tests.trace.damage import damaged, damaged_bytes
from tests.trace.samples import SAMPLES, Sample
from tests.trace.survival import survive

EXAMPLES = int(os.environ.get("EVALKIT_FUZZ_EXAMPLES", "15"))
FUZZ = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def each_of(samples: list[Sample]) -> pytest.MarkDecorator:
    """The test, for each of the samples."""
    return pytest.mark.parametrize("sample", [pytest.param(each, id=each.format) for each in samples])


EACH_SAMPLE = each_of([*SAMPLES])
EACH_JSON = each_of([each for each in SAMPLES if not isinstance(each.document, bytes)])


def files(path: Path) -> Iterator[Path]:
    """The files of a document on disk."""
    return (each for each in sorted(path.iterdir()) if each.is_file()) if path.is_dir() else iter([path])


def found(path: Path, name: str | None = None) -> list[Trace]:
    """The traces in a damaged document; none where it is refused."""
    with suppress(EvalkitError):
        return list(load_traces(path, format=name))
    return []


def test_every_format_has_a_sample() -> None:
    """A format without a sample would not be tested with hostile input: add one to tests/trace/samples.py."""
    lacking = set(FORMATS.names()) - {sample.format for sample in SAMPLES}
    assert not lacking, f"add a sample to tests/trace/samples.py for: {', '.join(sorted(lacking))}"


@EACH_SAMPLE
def test_a_sample_is_found_by_its_content_and_used(tmp_path: Path, sample: Sample) -> None:
    """Exactly one format claims it, and its traces hold steps that become a case."""
    traces = list(load_traces(sample.write(sample.document, tmp_path)))
    assert traces
    for trace in traces:
        assert trace.steps
        survive(trace, tmp_path / "project")


@EACH_JSON
@FUZZ
@given(data=st.data())
def test_junk_anywhere_is_read_or_refused(sample: Sample, data: st.DataObject) -> None:
    """No foreign value at any place raises anything but a typed error; what is read can be judged, shown and kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = sample.write(damaged(sample.document, data), Path(folder))
        for trace in found(path, data.draw(st.sampled_from([sample.format, None]))):
            with suppress(InputError):
                survive(trace, Path(folder, "project"))


@EACH_SAMPLE
@FUZZ
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(sample: Sample, data: st.DataObject) -> None:
    """Files that were cut, flipped or packed badly raise nothing but a typed error, in detection as in reading."""
    with tempfile.TemporaryDirectory() as folder:
        path = sample.write(sample.document, Path(folder))
        for each in files(path):
            content = each.read_bytes()
            content = gzip.compress(content, 1, mtime=0) if data.draw(st.booleans()) else content
            each.write_bytes(damaged_bytes(content, data))
        for trace in found(path, data.draw(st.sampled_from([sample.format, None]))):
            with suppress(InputError):
                survive(trace, Path(folder, "project"))
