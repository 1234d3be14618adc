"""What parts of a text spell is found, rewritten, and put back in the part's own spelling."""

from __future__ import annotations

import base64
import gzip
import html
import json
import zipfile
import zlib
from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.sanitize.blobs import MAX_UNPACKED, blob_of
from evalkit.sanitize.folding import fold
from evalkit.sanitize.keyed_text import keyed_pieces
from evalkit.sanitize.pieces import CODECS, Codec, Piece, rewritten
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings

KEY = b"pieces test key, 32 bytes......."
MAIL = "mia.keller@acme.com"


def archive(text: str) -> bytes:
    """A zip with one member."""
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as made:
        made.writestr("a.txt", text)
    return sink.getvalue()


def encoded(form: str, text: str) -> str:
    """`text` in an encoding."""
    data = text.encode()
    packed: dict[str, bytes | str] = {
        "base64": base64.b64encode(data),
        "base64url": base64.urlsafe_b64encode(b"???>" + data).rstrip(b"="),
        "base64, lines": base64.encodebytes(data * 5),
        "base64 twice": base64.b64encode(base64.b64encode(data)),
        "gzip": base64.b64encode(gzip.compress(data, mtime=0)),
        "zlib": base64.b64encode(zlib.compress(data)),
        "zip": base64.b64encode(archive(text)),
        "utf-16": base64.b64encode(text.encode("utf-16-le")),
        "hex": data.hex(),
        "HEX": "0x" + data.hex().upper(),
        "percent": quote(text, safe=""),
        "percent twice": quote(quote(text, safe=""), safe=""),
        "plus": "q=" + text.replace(" ", "+"),
        "entities": "<b>" + html.escape(text).replace("@", "&#64;") + "</b>",
        "escapes": "".join(f"\\u{ord(char):04x}" for char in text),
        "JSON in prose": f"gave {json.dumps({'note': text})} back",
        "JSON thrice": json.dumps(json.dumps(json.dumps([text]))),
        "escaped JSON in prose": f"log {json.dumps(json.dumps({'note': text}))[1:-1]} end",
        "data URL": "data:text/plain;base64," + base64.b64encode(data).decode(),
    }
    found = packed[form]
    return found if isinstance(found, str) else found.decode()


FORMS = (
    "base64", "base64url", "base64, lines", "base64 twice", "gzip", "zlib", "zip", "utf-16", "hex", "HEX", "percent",
    "percent twice", "plus", "entities", "escapes", "JSON in prose", "JSON thrice", "escaped JSON in prose", "data URL",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_replaced_in_every_encoding(form: str) -> None:
    """It is found though it stands nowhere else, replaced by its surrogate, and encoded again in the same way."""
    text = f"please ask {MAIL} about it, 张三"
    sanitizer = Sanitizer(Policy(), KEY)
    clean = sanitizer.text(encoded(form, text))
    assert clean != encoded(form, text)
    stand_in = str(Sanitizer(Policy(), KEY).value(MAIL))
    if form != "zip":  # its members have the time of writing
        expected = encoded(form, text.replace(MAIL, stand_in))
        assert clean in (expected, expected.replace("&#64;", "@")) or json.loads(f'"{clean}"') == json.loads(
            f'"{expected}"'
        )
    assert sanitizer.text(clean) == clean
    verify_strings([clean], sanitizer.harvested)


@pytest.mark.parametrize("form", FORMS)
def test_what_holds_nothing_stays_to_the_letter(form: str) -> None:
    """Decoding and encoding never alter what is not replaced."""
    text = encoded(form, "nothing personal & no secret in here, at all")
    assert Sanitizer(Policy(), KEY).text(text) == text


@given(st.text(max_size=60), st.sampled_from([*CODECS, partial(keyed_pieces, tells=bool)]))
def test_any_text_survives_any_codec(text: str, codec: Codec) -> None:
    """Pieces lie inside of the text; a rewrite that changes nothing gives the text itself."""
    assert all(0 <= piece.start < piece.end <= len(text) for piece in codec(text))
    assert rewritten(text, codec, lambda piece: piece.value) == text


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("GET /find?first_name=Will&page=2", "first_name", "Will"),
        ("level=info user_id=ab_12345 ok", "user_id", "ab_12345"),
        ("{'first_name': 'Will', 'n': 1}", "first_name", "Will"),
        ("https://x.io/?name=Mia%20Li", "name", "Mia Li"),
        ("姓名=王小明", "姓名", "王小明"),
    ],
)
def test_pairs_amid_text_have_keys(text: str, key: str, value: str) -> None:
    """A form, a log line, a printed object: the key says what the value is."""
    found = [(piece.key, piece.value) for piece in keyed_pieces(text, bool)]
    assert (key, value) in found


def test_a_name_under_a_key_in_a_url_goes_though_it_is_a_word() -> None:
    """``Will`` alone is never looked for in texts; under its key it is replaced all the same."""
    clean = Sanitizer(Policy(), KEY).text("GET /find?first_name=Will&page=2 will do")
    assert "Will" not in clean
    assert clean.endswith("&page=2 will do")


@pytest.mark.parametrize(
    "text",
    [
        "号码１３９４５６７１２３４。",
        "m\u200bi\u200ba.keller@acme.com",
        "call 1 3 9 4 5 6 7 1 2 3 4 now",
        "card 4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1",
        "ｍｉａ．ｋｅｌｌｅｒ＠ａｃｍｅ．ｃｏｍ",
    ],
)
def test_disguised_letters_and_digits_are_found(text: str) -> None:
    """Full-width forms, invisible characters and spread digits hide nothing."""
    sanitizer = Sanitizer(Policy(), KEY)
    clean = sanitizer.text(text)
    assert clean != text
    assert len(sanitizer.harvested) > 0
    assert sanitizer.text(clean) == clean


@pytest.mark.parametrize("text", ["中文，标点：（全角）。", "1 2 3", "2026-11-29 10:00", "a, b 3 4 5", "naïve café"])
def test_usual_text_is_not_folded(text: str) -> None:
    """Full-width punctuation and short rows of numbers are as usual as letters."""
    assert fold(text) is None


@given(st.text(max_size=40))
def test_a_folded_text_knows_where_it_comes_from(text: str) -> None:
    """Every character has a place, and the places never go back."""
    folded = fold(text)
    if folded is not None:
        assert len(folded.text) == len(folded.places)
        assert folded.places == sorted(folded.places)
        assert all(0 <= place < len(text) for place in folded.places)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    """What is no text gives None and never raises; what is comes back the same."""
    blob = blob_of(data)
    if blob is not None and data[:4] != b"PK\x03\x04":
        again = blob_of(blob.pack(blob.value))
        assert again is not None
        assert again.value == blob.value


def test_a_bomb_is_not_unpacked() -> None:
    """What unpacks to more than the limit is left alone."""
    assert blob_of(gzip.compress(b"a" * (MAX_UNPACKED + 1))) is None
    assert blob_of(archive("a" * (MAX_UNPACKED + 1))) is None


@pytest.mark.parametrize(
    "bait",
    [
        "5d41402abc4b2a76b9719d911017c592a1b2c3d4",
        "550e8400-e29b-41d4-a716-446655440000",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "get_reservation_details_of_user",
        "https://example.org/a/b?x=1+2&y=%20",
        r"C:\Users\name\new\table",
        "0.1 0.25 3.14159265358979",
    ],
)
def test_bait_is_not_touched(bait: str) -> None:
    """Hashes, ids, pictures, paths and numbers hold nobody's values."""
    assert Sanitizer(Policy(), KEY).text(bait) == bait


def test_pieces_are_named_tuples_without_a_key_by_default() -> None:
    """Only pairs have keys."""

    def spell(new: Any) -> str:
        return str(new)

    assert Piece(0, 1, "a", spell).key == ""
