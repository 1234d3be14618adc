"""The last look finds an original in every usual encoding, and never shows it."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest

from evalkit.canonical import Json
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import Harvested, verify, verify_strings
from evalkit.sanitize.views import Budget, views

EMAIL, NAME, SECRET = "mia.li@acme.com", "王小明", "hunter2-Blue"
HARVESTED = Harvested([(EMAIL, "email"), (NAME, "name"), (SECRET, "secret"), ("Yusuf", "name"), ("78750", "postcode")])


def written(value: str, encoding: str) -> bytes:
    """`value` inside a file, in some encoding."""
    plain = value.encode()
    if encoding.startswith("base64"):
        return b"{" + base64.b64encode(b"abc"[: int(encoding[-1])] + plain + b"xyz") + b"}"
    once = json.dumps(value)[1:-1]
    forms = {
        "plain": plain,
        "upper": value.upper().encode(),
        "json": once.encode(),
        "json twice": json.dumps(once)[1:-1].encode(),
        "json, every character": "".join(f"\\u{ord(char):04x}" for char in value).encode(),
        "url": quote(value, safe="").encode(),
        "url, lower hex": re.sub("%..", lambda match: match[0].lower(), quote(value, safe="")).encode(),
        "url twice": quote(quote(value, safe=""), safe="").encode(),
        "hex": plain.hex().encode(),
        "HEX": plain.hex().upper().encode(),
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
    }
    return b'{"text": "' + forms[encoding] + b'"}'


ENCODINGS = (
    "plain|upper|json|json twice|json, every character|url|url, lower hex|url twice|hex|HEX|utf-16-le|utf-16-be"
    "|base64 0|base64 1|base64 2"
)


@pytest.mark.parametrize("encoding", ENCODINGS.split("|"))
@pytest.mark.parametrize("value", [EMAIL, NAME, SECRET])
def test_an_original_is_found_in_every_encoding(value: str, encoding: str) -> None:
    """Whatever the encoding, nothing is kept; the message names the kind and never the value."""
    with pytest.raises(SanitizationFailed) as caught:
        verify(written(value, encoding), HARVESTED, "v0001.parquet")
    assert value not in str(caught.value)
    assert "v0001.parquet" in caught.value.where
    assert caught.value.what.startswith("an original value of kind ")


def test_a_clean_file_passes() -> None:
    """What holds no original passes, also when pieces of one stand in longer words."""
    verify(b'{"text": "Yusufzai and Yusu, 78750 dollars, 1234"}', HARVESTED)


def test_short_numbers_are_not_looked_for() -> None:
    """A postcode turns up by chance in counts and prices: fewer than seven digits never refuse a file."""
    assert ("78750", "postcode") not in HARVESTED.originals


def test_columns_are_checked_text_by_text() -> None:
    """The message says which text holds the original."""
    with pytest.raises(SanitizationFailed, match="text 1"):
        verify_strings(["fine", f"write to {EMAIL}"], HARVESTED)
    verify_strings(["fine", "u0123456789ab@example.com"], HARVESTED)


def test_nothing_harvested_passes_everything() -> None:
    """Without originals there is nothing to find."""
    verify(b"anything", Harvested([]))
    verify_strings(["anything"], Harvested([]))


def test_what_a_sanitizer_replaced_is_what_is_looked_for() -> None:
    """A sanitizer's own output passes its own check; its input doesn't."""
    sanitizer = Sanitizer(Policy(), b"k" * 32)
    value: Json = {"email": EMAIL, "text": f"Mia wrote from {EMAIL}", "first_name": "Miriam"}
    clean = sanitizer.value(value)
    verify(json.dumps(clean).encode(), sanitizer.harvested)
    with pytest.raises(SanitizationFailed):
        verify(json.dumps(value).encode(), sanitizer.harvested)


def zipped(text: str) -> bytes:
    """A zip with one member."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.txt", text)
    return sink.getvalue()


@pytest.mark.parametrize(
    "form",
    [
        lambda text: base64.b64encode(gzip.compress(text.encode())).decode(),
        lambda text: "x" + base64.b64encode(zlib.compress(text.encode())).decode(),
        lambda text: base64.b64encode(zipped(text)).decode(),
        lambda text: base64.b64encode(zipped(text))[:80].decode(),
        lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
        lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
        lambda text: "".join(f"&#{ord(char)};" for char in text),
        lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
        lambda text: "\u200b".join(text),
        lambda text: quote(json.dumps({"a": json.dumps(text)})),
    ],
)
def test_what_is_packed_is_unpacked(form: Callable[[str], str]) -> None:
    """Compressed, archived, torn, encoded twice, in entities, wide or invisible letters: the last look sees it."""
    with pytest.raises(SanitizationFailed) as caught:
        verify_strings([f'{{"note": "{form(f"{EMAIL} wrote")}"}}'], HARVESTED)
    assert EMAIL not in str(caught.value)


def test_what_can_not_be_looked_through_is_refused() -> None:
    """Unpacking has a budget; beyond it the answer is no."""
    bomb = base64.b64encode(gzip.compress(b"a" * 4_000_000)).decode()
    with pytest.raises(SanitizationFailed):
        list(views(bomb, Budget(1_000_000)))
    assert list(views(base64.b64encode(gzip.compress(b"hello hello hello")).decode(), Budget(1_000_000)))


@pytest.mark.parametrize(
    "packed",
    [
        "f" + EMAIL.encode().hex(),
        base64.b64encode(bytes(range(128, 200)) + EMAIL.encode() + bytes(range(200, 250))).decode(),
        base64.b64encode(SECRET.encode()[:8]).decode().rstrip("="),
        EMAIL.replace("@", "\\u0040").replace("/", "+"),
        json.dumps(json.dumps({"to": EMAIL})),
    ],
)
def test_a_text_among_many_is_decoded(packed: str) -> None:
    """Hex behind another digit, base64 of what is mostly no text, the shortest base64: the message says which text."""
    harvested = Harvested([(EMAIL, "email"), (SECRET[:8], "secret")])
    with pytest.raises(SanitizationFailed, match="text 40") as caught:
        verify_strings([f"clean {n}" for n in range(40)] + [f"see {packed} there"], harvested)
    assert EMAIL not in str(caught.value)


def test_two_texts_are_not_read_as_one() -> None:
    """What only their meeting spells is no find, whatever the encoding."""
    for whole in (EMAIL, EMAIL.encode().hex(), base64.b64encode(EMAIL.encode()).decode(), quote(EMAIL, safe="")):
        for at in range(1, len(whole) - 1):
            verify_strings([whole[:at], whole[at:]], Harvested([(EMAIL, "email")]))
