"""A case file gets its name only after it was read back and looked over."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from evalkit.canonical import Json
from evalkit.case.look import look_over
from evalkit.case.store import write_case
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.verify import Harvested
from evalkit.trace.model import Step
from tests.build import a_case, a_trace, tool_step

MAIL = "lena.vogt@acme-mail.com"
HARVESTED = Harvested([(MAIL, "email")])


def look(path: Path) -> None:
    """The last look."""
    look_over(path, HARVESTED)


@pytest.mark.parametrize("count", [1, 400])
def test_a_value_in_a_column_leaves_no_file(tmp_path: Path, count: int) -> None:
    """In rows and in compressed pages: refused, and no folder is left."""
    steps = [
        tool_step(n, "get", {"n": n}, {"note": "x" * 200, "to": MAIL if n == count - 1 else "y"}) for n in range(count)
    ]
    with pytest.raises(SanitizationFailed) as caught:
        write_case(a_case(a_trace(*steps)), tmp_path / "cases", look=look)
    assert MAIL not in str(caught.value)
    assert not (tmp_path / "cases").exists()


PACKED = {
    "base64": base64.b64encode(f"write to {MAIL}".encode()).decode(),
    "gzip": base64.b64encode(gzip.compress(f"write to {MAIL}".encode())).decode(),
    "escapes": json.dumps(json.dumps({"to": MAIL.replace("@", "\uff20")})),
    "percent twice": quote(quote(MAIL, safe=""), safe=""),
}


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_a_packed_value_in_a_message_leaves_no_file(tmp_path: Path, packed: str) -> None:
    """Also where it stands in one of many messages that every request repeats, or is a key."""
    seen: list[Json] = [{"role": "user", "content": f"see {packed}"}, {"role": "user", "content": [{packed: 1}]}]
    for message in seen:
        messages: list[Json] = [{"role": "user", "content": f"turn {n}"} for n in range(20)]
        messages.insert(7, message)
        steps = [Step(n, "model", "chat", {"messages": messages[: n + 1]}, {"content": "ok"}) for n in range(20)]
        with pytest.raises(SanitizationFailed):
            write_case(a_case(a_trace(*steps)), tmp_path / "cases", look=look)
        assert not (tmp_path / "cases").exists()


def test_a_value_in_the_header_or_the_id_leaves_no_file(tmp_path: Path) -> None:
    """Titles stand in the file's metadata, ids in its path."""
    with pytest.raises(SanitizationFailed):
        write_case(replace(a_case(), title=f"for {MAIL}"), tmp_path, look=look)
    with pytest.raises(SanitizationFailed):
        write_case(
            replace(a_case(), id="lena-vogt"),
            tmp_path,
            look=lambda path: look_over(path, Harvested([("lena-vogt", "name")])),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_look_that_fails_for_another_reason_leaves_no_file(tmp_path: Path) -> None:
    """What can't be looked through is not kept."""
    torn = tmp_path / "x" / "v0001.parquet"
    torn.parent.mkdir()
    torn.write_bytes(b"PAR1 torn")
    with pytest.raises(SanitizationFailed):
        look_over(torn, HARVESTED)


def test_a_clean_case_is_written(tmp_path: Path) -> None:
    """And nothing else is left beside it."""
    path = write_case(a_case(), tmp_path, look=look)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
