"""The last look takes apart what is nested: every encoding in every other, among texts that hold nothing."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.unpacked import Budget, texts_in
from evalkit.sanitize.verify import Harvested, verify_strings
from evalkit.sanitize.views import views

EMAIL, NAME, ADDRESS, QUOTED = "mia.li@acme.com", "欧阳小明", "12 Main St, Oslo (NO)", 'the "Blue" hunter2'
PLAIN = Harvested([(EMAIL, "email"), (NAME, "name"), (ADDRESS, "address")])
WITH_QUOTES = Harvested([*PLAIN.originals, (QUOTED, "secret")])


def in_base64(data: bytes) -> str:
    """Standard base64."""
    return base64.b64encode(data).decode()


def wrapped(text: str) -> str:
    """Base64 as mails have it."""
    return base64.encodebytes(f"{text} is all that was to be said of it in this rather long note".encode()).decode()


def zipped(text: str, method: int) -> bytes:
    """A zip with one member."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as made:
        made.writestr(zipfile.ZipInfo("a.txt"), text, method)
    return sink.getvalue()


def units(text: str) -> list[int]:
    """The UTF-16 code units of a text."""
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


ENCODINGS: dict[str, Callable[[str], str]] = {
    "JSON": lambda text: json.dumps({"note": text}),
    "JSON in UTF-8": lambda text: json.dumps({"note": text}, ensure_ascii=False),
    "JSON, every character": lambda text: "".join(f"\\u{unit:04X}" for unit in units(text)),
    "JSON, every second character": lambda text: "".join(
        json.dumps(char)[1:-1] if at % 2 else "".join(f"\\u{unit:04x}" for unit in units(char))
        for at, char in enumerate(text)
    ),
    "bytes of Python": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "URL": lambda text: "q=" + quote(text, safe=""),
    "URL, lower hex": lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text, safe="")),
    "base64": lambda text: in_base64(text.encode()),
    "base64 from the second byte": lambda text: in_base64(b"-" + text.encode()),
    "base64 from the third byte": lambda text: in_base64(b"--" + text.encode()),
    "base64 behind a letter": lambda text: "x" + in_base64(text.encode()),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 over lines": wrapped,
    "hex": lambda text: text.encode().hex(),
    "HEX behind a digit": lambda text: "7" + text.encode().hex().upper(),
    "UTF-16-LE": lambda text: in_base64(text.encode("utf-16-le")),
    "UTF-16-BE in hex": lambda text: text.encode("utf-16-be").hex(),
    "gzip": lambda text: in_base64(gzip.compress(text.encode(), mtime=0)),
    "zlib in hex": lambda text: zlib.compress(text.encode()).hex(),
    "zip": lambda text: in_base64(zipped(text, zipfile.ZIP_DEFLATED)),
    "zip, stored": lambda text: in_base64(zipped(text, zipfile.ZIP_STORED)),
    "HTML": lambda text: f"<p>{html.escape(text)}</p>".encode("ascii", "xmlcharrefreplace").decode(),
    "HTML, every character": lambda text: "".join(f"&#x{ord(char):x};" for char in text),
    "wide letters": lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
    "letters of mathematics": lambda text: re.sub("[a-z]", lambda match: chr(ord(match[0]) + 0x1D3B9), text),
    "invisible letters between": lambda text: "\u200b".join(text),
}
CLEAN = ("all is fine", '{"note": "没有问题", "n": 3}', "a \\\\ path \\n and %41 &amp; more", "", "3f786850e387")


def is_refused(texts: list[str], harvested: Harvested) -> bool:
    """Whether the last look finds an original in some texts."""
    try:
        verify_strings(texts, harvested)
    except SanitizationFailed:
        return True
    return False


@pytest.mark.parametrize("outer", ENCODINGS)
@pytest.mark.parametrize("value", [EMAIL, NAME, ADDRESS, QUOTED])
def test_every_encoding_is_read_in_every_other(value: str, outer: str) -> None:
    """Twice encoded, in whatever order: it is refused, whether a quotation mark may be in a value or not."""
    harvested = WITH_QUOTES if value in (ADDRESS, QUOTED) else PLAIN
    for inner, encode in ENCODINGS.items():
        text = ENCODINGS[outer](f"see {encode(value)} there")
        assert is_refused([*CLEAN, f"{text} end"], harvested), inner


@given(st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=4), st.sampled_from([EMAIL, NAME, ADDRESS, QUOTED]))
@example(["zip", "JSON", "gzip", "JSON"], NAME)
def test_what_is_nested_deeper_is_read_too(names: list[str], value: str) -> None:
    """Up to four encodings around one another, with a word beside each."""
    text = value
    for name in names:
        text = ENCODINGS[name](f"so {text} it is")
    assert is_refused([*CLEAN, text, *CLEAN], WITH_QUOTES)


@pytest.mark.parametrize("outer", ENCODINGS)
def test_digits_that_stand_apart_are_read_together(outer: str) -> None:
    """A number with spaces, dots or dashes between its digits, and in an encoding."""
    harvested = Harvested([("13945671234", "phone")])
    for sign in " .-_":
        assert is_refused([ENCODINGS[outer](f"call {sign.join('13945671234')} now")], harvested)


PARTS = st.lists(
    st.sampled_from([EMAIL, EMAIL[:8], EMAIL[8:], "x", " ", '"', "\\", "n", "%", "u0041", "，", "5"]), max_size=6
)


@given(st.lists(st.tuples(PARTS, st.sampled_from(["", *sorted(ENCODINGS)])), max_size=6))
def test_many_texts_are_judged_as_each_alone(texts: list[tuple[list[str], str]]) -> None:
    """What texts are looked at together makes no difference."""
    made = ["".join(parts) if not name else ENCODINGS[name]("".join(parts)) for parts, name in texts]
    assert is_refused(made, PLAIN) == any(is_refused([text], PLAIN) for text in made)


@given(st.lists(st.binary(max_size=24) | st.text("ab\6王", max_size=12).map(str.encode), max_size=8))
def test_bytes_are_read_together_as_each_alone(blobs: list[bytes]) -> None:
    """The texts in some bytes are those in each of them; a control character aside, which is in no text."""
    together = list(texts_in(blobs, Budget(), ""))
    alone = [text for blob in blobs for text in texts_in([blob], Budget(), "")]
    assert together == alone


ESCAPE = re.compile(r"""(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\["'\\/bfnrt]""")
ESCAPES = ("\\", "\\", "u0041", "u005c", "x5c", "x4", "1", "n", '"', "/", "u00", "ud83d\\ude00", "é", "王", "x")


def unescaped(match: re.Match[str]) -> str:
    """What an escape stands for, or several for one character."""
    if match[0][1] == "u":
        return bytes.fromhex(match[0].replace("\\u", "")).decode("utf-16-be", "replace")
    if match[0][1] == "x":
        return chr(int(match[0][2:], 16))
    return dict(zip("bfnrt", "\b\f\n\r\t", strict=True)).get(match[0][1], match[0][1])


@given(st.lists(st.sampled_from(ESCAPES), max_size=12).map("".join))
@example("\\x\\u00334")
@example("\\u005cn")
@example("\\\\u0041")
def test_escapes_are_read_once_from_left_to_right(text: str) -> None:
    """What an escape spells is not read as a part of another one before the next look."""
    read = ESCAPE.sub(unescaped, text)
    assert read == text or read in list(views(text, Budget()))
