"""Evidence on disk: whole or not there, found by who is in it, and gone when it is destroyed."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError, IntegrityError
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.subject import claims_of
from evalkit.vault.index import sought, terms_of_claims, terms_of_traces
from evalkit.vault.model import Evidence, Hold
from evalkit.vault.store import (
    destroy_evidence,
    find_evidence,
    iter_destroyed,
    iter_evidence,
    keep_evidence,
    read_evidence,
    subject_terms,
    without_key,
    write_retention,
)
from tests.build import a_trace, tool_step

pyrage = pytest.importorskip("pyrage", reason="needs the extra vault")
ANN = pyrage.x25519.Identity.generate()
RECIPIENTS = [str(ANN.to_public())]
KEY = b"vault test key, 32 bytes........"
RAW = b"the raw trace of lena.vogt@posteo-mail.de"
ID = "0123456789abcdef"


def some(evidence_id: str = ID, kept_at: str = "2026-11-29T12:00:00Z") -> Evidence:
    """A piece of evidence."""
    return Evidence(evidence_id, kept_at, "standard", None, len(RAW), "1", "0" * 16)


def keep(folder: Path, evidence_id: str = ID) -> bool:
    """Keeps the raw trace."""
    terms = terms_of_claims(claims_of("lena.vogt@posteo-mail.de", Policy()), KEY)
    return keep_evidence(folder, some(evidence_id), RAW, terms, RECIPIENTS)


def everything(folder: Path) -> bytes:
    """All bytes under a folder, names included."""
    return b"\n".join(str(path).encode() + b"\n" + path.read_bytes() for path in folder.rglob("*") if path.is_file())


def decoded(data: bytes) -> list[bytes]:
    """The bytes in every way that a curious person would try: as they are, hex, base64, deflated."""
    runs = re.findall(rb"[0-9a-fA-F]{16,}", data)
    found = [data, *(bytes.fromhex(run[: len(run) // 2 * 2].decode()) for run in runs)]
    for run in re.findall(rb"[A-Za-z0-9+/_-]{16,}", data):
        plain = run.replace(b"-", b"+").replace(b"_", b"/")
        found += [base64.b64decode(plain[at : at + (len(plain) - at) // 4 * 4]) for at in range(4)]
    for at in range(0, len(data), 7):
        for bits in (15, -15, 31):
            unpacked = zlib.decompressobj(bits)
            try:
                found.append(unpacked.decompress(data[at:], 1000))
            except zlib.error:
                continue
    return found


def test_what_is_kept_can_be_read_back(tmp_path: Path) -> None:
    """By the identity, with what was said of it."""
    assert keep(tmp_path)
    assert [*iter_evidence(tmp_path)] == [some()]
    assert read_evidence(tmp_path, find_evidence(tmp_path, "0123"), [ANN]) == RAW


def test_files_are_the_owners_only(tmp_path: Path) -> None:
    """Nobody else on the machine reads even the ciphertext."""
    keep(tmp_path)
    for path in (tmp_path / "traces").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_nothing_kept_gives_the_raw_away(tmp_path: Path) -> None:
    """Neither text nor subject, in any encoding, in ciphertext, index or names of files."""
    keep(tmp_path)
    for data in decoded(everything(tmp_path)):
        assert not any(part in data for part in (b"lena", b"vogt", b"posteo", b"raw trace"))


def test_the_same_trace_is_kept_once(tmp_path: Path) -> None:
    """And one that was destroyed does not come back."""
    assert (keep(tmp_path), keep(tmp_path)) == (True, False)
    destroy_evidence(tmp_path, ID, actor="ann", reason="x", at="2026-11-30T00:00:00Z")
    assert not keep(tmp_path)
    assert [*iter_evidence(tmp_path)] == []


def test_destroyed_means_that_nothing_opens_it(tmp_path: Path) -> None:
    """Key, ciphertext and index are gone, and a tombstone says who and why; twice is no error."""
    keep(tmp_path)
    sealed = [(tmp_path / "traces" / ID / name).read_bytes() for name in ("key.age", "data.bin", "subjects.json")]
    for _ in range(2):
        destroy_evidence(tmp_path, ID, actor="ann", reason="ticket 7", at="2026-11-30T00:00:00Z")
    left = everything(tmp_path)
    assert not any(data[40:80] in left for data in sealed)
    assert [path.name for path in (tmp_path / "traces" / ID).iterdir()] == ["destroyed.json"]
    assert [(one.id, one.actor, one.reason) for one in iter_destroyed(tmp_path)] == [(ID, "ann", "ticket 7")]
    assert [*subject_terms(tmp_path)] == []
    with pytest.raises(InputError, match="was destroyed on 2026-11-30"):
        find_evidence(tmp_path, ID)


def test_a_half_destroyed_one_is_no_evidence_any_more(tmp_path: Path) -> None:
    """The key goes first; what a crash leaves is still found by its subjects, so that destroying can be finished."""
    keep(tmp_path)
    (tmp_path / "traces" / ID / "key.age").unlink()
    assert [*iter_evidence(tmp_path)] == []
    assert [name for name, _ in subject_terms(tmp_path)] == [ID]


def test_a_lost_key_is_not_taken_for_a_destruction(tmp_path: Path) -> None:
    """Nobody noted one; what was destroyed does not count as lost."""
    keep(tmp_path)
    assert without_key(tmp_path) == []
    (tmp_path / "traces" / ID / "key.age").unlink()
    assert without_key(tmp_path) == [ID]
    with pytest.raises(IntegrityError, match="wrapped key is gone"):
        find_evidence(tmp_path, ID)
    destroy_evidence(tmp_path, ID, actor="ann", reason="x", at="2026-11-30T00:00:00Z")
    assert without_key(tmp_path) == []


def test_an_exchanged_or_changed_file_is_an_integrity_error(tmp_path: Path) -> None:
    """Data of another trace under this one's name, a description that was edited, a file that is missing."""
    other = "fedcba9876543210"
    keep(tmp_path)
    keep(tmp_path, other)
    here, there = tmp_path / "traces" / ID, tmp_path / "traces" / other
    for name in ("data.bin", "key.age"):
        (here / name).write_bytes((there / name).read_bytes())
    with pytest.raises(IntegrityError):
        read_evidence(tmp_path, some(), [ANN])
    about = json.loads((there / "about.json").read_text("utf-8"))
    (there / "about.json").write_text(json.dumps({**about, "kept_at": "2020-01-01T00:00:00Z"}), "utf-8")
    with pytest.raises(IntegrityError):
        read_evidence(tmp_path, some(other), [ANN])
    (there / "retention.json").unlink()
    with pytest.raises(IntegrityError):
        find_evidence(tmp_path, other)


def test_a_hold_is_written_and_taken_away(tmp_path: Path) -> None:
    """The class from before is remembered under it."""
    keep(tmp_path)
    hold = Hold("ann", "case 4 of 2026", "2026-11-29T13:00:00Z")
    write_retention(tmp_path, some(), "standard", hold)
    held = find_evidence(tmp_path, ID)
    assert (held.hold, held.effective) == (hold, "legal-hold")
    write_retention(tmp_path, held, held.retention, None)
    assert find_evidence(tmp_path, ID) == some()


@pytest.mark.parametrize("name", ["", "../../x", "0123456789ABCDEF", "zz"])
def test_an_id_can_not_leave_the_folder(name: str, tmp_path: Path) -> None:
    """Ids are hex digits."""
    keep(tmp_path)
    with pytest.raises(InputError):
        find_evidence(tmp_path, name)
    with pytest.raises(InputError):
        destroy_evidence(tmp_path, name, actor="a", reason="b", at="c")


WORD = st.text("abcdefghijklmnoprstuvwyz", min_size=3, max_size=9)
NAMES = st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4, unique=True)


@settings(max_examples=15, deadline=None)
@given(names=NAMES, absent=st.tuples(WORD, WORD), data=st.data())
def test_the_index_finds_who_is_there_and_nobody_else(
    names: list[tuple[str, str]], absent: tuple[str, str], data: st.DataObject
) -> None:
    """In another case and order too; without the key it says nothing."""
    people = [f"{given.title()} {family.title()}" for given, family in names]
    addresses = [f"{given}.{family}@posteo-mail.de" for given, family in names]
    claims = [claim for text in (*people, *addresses) for claim in claims_of(text, Policy())]
    terms = terms_of_claims(claims, KEY)
    given, family = data.draw(st.sampled_from(names))
    for asked in (f"{given} {family}", f"{family.upper()}, {given}", f"{given.upper()}.{family}@POSTEO-mail.de"):
        found = claims_of(asked, Policy())
        if found:
            assert sought(found, KEY).presence(terms) == "whole", asked
            assert sought(found, b"another key, 32 bytes long......").presence(terms) == "none"
    if not {*absent} & {word for name in names for word in name}:
        asked_for = claims_of(f"{absent[0]}.{absent[1]}@posteo-mail.de", Policy())
        assert sought(asked_for, KEY).presence(terms) == "none"
    assert all(re.fullmatch("[0-9a-f]{32}", term) for term in terms)


def test_a_trace_is_found_by_what_stands_in_it() -> None:
    """Whoever another trace of the batch names is found where only the name occurs; numbers in any spelling."""
    first = a_trace(tool_step(0, "find", {}, {"name": "Lena Vogt", "phone": "+1 415-867-5309", "user_id": "lena_4711"}))
    second = a_trace(tool_step(0, "mail", {"text": "Hello Lena Vogt"}, {"ok": True}), id="run-2")
    third = a_trace(tool_step(0, "mail", {"text": "Hello"}, {"ok": True}), id="run-3")
    terms = terms_of_traces([first, second, third], Policy(), KEY)

    def presences(text: str) -> list[str]:
        wanted = sought(claims_of(text, Policy()), KEY)
        return [wanted.presence(one) for one in terms]

    assert presences("Lena Vogt") == ["whole", "whole", "none"]
    assert presences("Lena Meier")[2] == "none"
    assert "whole" not in presences("Lena Meier")
    assert presences("(415) 867-5309") == ["whole", "none", "none"]
    assert presences("LENA_4711") == ["whole", "none", "none"]


def test_evidence_opens_without_evalkit(tmp_path: Path) -> None:
    """The data key is in an age file, and any AES-GCM does the rest: as docs/evidence.md says."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    keep(tmp_path)
    folder = tmp_path / "traces" / ID
    data_key = pyrage.decrypt((folder / "key.age").read_bytes(), [ANN])
    data = (folder / "data.bin").read_bytes()
    assert AESGCM(data_key).decrypt(data[:12], data[12:], (folder / "about.json").read_bytes()) == RAW


def test_who_shares_a_family_name_is_somebody_else() -> None:
    """A trace where one Vogt occurs is not about another Vogt of the same batch."""
    lena = a_trace(tool_step(0, "find", {}, {"customer_name": "Lena Vogt"}))
    tom = a_trace(tool_step(0, "find", {}, {"customer_name": "Tom Vogt"}), id="run-2")
    wanted = sought(claims_of("Lena Vogt", Policy()), KEY)
    assert [wanted.presence(terms) for terms in terms_of_traces([lena, tom], Policy(), KEY)] == ["whole", "part"]
