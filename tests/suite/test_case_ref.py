"""References of very many cases: held packed, and the same when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.case.store import write_case
from evalkit.errors import IntegrityError
from evalkit.suite.case_ref import CaseRef, CaseRefs, brief_reference, ids_of, libraries_of, states_of, targets_of
from tests.build import a_case, a_trace, tool_step
from tests.suite.runs import CHECK

REF = CaseRef(
    "lib/c1/v0002.parquet", "c1", 2, "ab" * 32, "permanent", "\N{SNOWMAN}", "SIG", "agent:run", ("a",), check_text=""
)
REFS = (
    replace(REF, owner="me", link="https://x.test/1", raw_hash="0f" * 32, replayed="00ff", demands="12" * 8),
    replace(REF, path="lib/d/v0001.parquet", id="d", version=1, digest="no hex", state="reviewed", tags=()),
    replace(REF, path="other/e/v12345.parquet", id="e", version=12345, target="agent:other", digest="AB"),
)


def test_packed_references_are_what_they_were() -> None:
    """By place, in a row, and as a part; digests in any spelling."""
    held = CaseRefs(REFS)
    assert [*held] == [*REFS]
    assert held[1] == REFS[1]
    assert held[-1] == REFS[2]
    assert [*held[1:]] == [*REFS[1:]]
    assert [*held.those(lambda case: case.id != "d")] == [REFS[0], REFS[2]]


def test_what_many_ask_for_needs_no_references() -> None:
    """Ids, states, targets and libraries are the same, packed or not."""
    for facts in (ids_of, states_of, targets_of, libraries_of):
        assert facts(CaseRefs(REFS)) == facts(REFS)


def test_a_manifest_names_cases_by_their_newest_version() -> None:
    """Id, version, digest and state of each."""
    named = CaseRefs(REFS).named
    assert [*named] == [(case.id, case.version, case.digest, case.state) for case in REFS]
    assert named[1:] == [*named][1:]


def test_a_case_in_another_place_is_refused() -> None:
    """Its path could not be told from its id and version."""
    with pytest.raises(IntegrityError, match="the file holds case c1 version 2"):
        CaseRefs([replace(REF, path="lib/c2/v0002.parquet")])


def test_checks_that_are_not_held_are_read_again(tmp_path: Path) -> None:
    """With the digest of what they demand, which is held where the case is compared."""
    made = a_case(a_trace(tool_step(0, "lookup", {}, {})), checks=[CHECK])
    path = write_case(made, tmp_path)
    for compared in (False, True):
        case = brief_reference(path, compared=compared)
        assert case.checks == made.checks == (CHECK,)
        assert bool(case.demands) is compared
        assert case.checks_digest == brief_reference(path).demands


def test_checks_of_another_file_are_not_taken_for_the_cases(tmp_path: Path) -> None:
    """A verdict names what its run's case demanded, and not what stands in its place since."""
    made = a_case(a_trace(tool_step(0, "lookup", {}, {})), checks=[CHECK])
    path = write_case(made, tmp_path)
    case = brief_reference(path)
    path.unlink()
    write_case(replace(made, checks=(replace(CHECK, type="repeated_effect"),)), tmp_path)
    with pytest.raises(IntegrityError, match="another file now"):
        _ = case.checks
