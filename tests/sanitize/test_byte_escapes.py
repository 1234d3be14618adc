"""Values that are spelled by the codes of their bytes or characters."""

from __future__ import annotations

import quopri

import pytest

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings

KEY = bytes(32)
NAME = "诸葛梓涵"
SPELLED = {
    "bytes of Python": repr(NAME.encode()),
    "git's octal": '"' + "".join(f"\\{byte:03o}" for byte in NAME.encode()) + '.txt"',
    "eight digits": "".join(f"\\U{ord(char):08x}" for char in NAME),
    "braces": "".join(f"\\u{{{ord(char):x}}}" for char in NAME),
    "percent u": "".join(f"%u{ord(char):04X}" for char in NAME),
    "quoted-printable": quopri.encodestring(NAME.encode()).decode(),
    "a mail's header": "=?utf-8?Q?" + "".join(f"={byte:02X}" for byte in NAME.encode()) + "?=",
}


@pytest.mark.parametrize("text", SPELLED.values(), ids=SPELLED.keys())
def test_it_is_replaced_in_its_spelling(text: str) -> None:
    """The known name is gone, what stands around it is left, and the last look has nothing against it."""
    sanitizer = Sanitizer(Policy(), KEY)
    clean = sanitizer.value([{"姓名": NAME}, f"see {text} again"])
    assert isinstance(clean, list)
    assert text not in str(clean[1])
    assert str(clean[1]).startswith("see ")
    assert str(clean[1]).endswith(" again")
    verify_strings([str(clean)], sanitizer.harvested)


@pytest.mark.parametrize("text", [*SPELLED.values(), " ".join(f"{byte:02x}" for byte in NAME.encode())])
def test_the_last_look_reads_it(text: str) -> None:
    """Were it left, nothing would be written."""
    sanitizer = Sanitizer(Policy(), KEY)
    sanitizer.value({"姓名": NAME})
    with pytest.raises(SanitizationFailed, match="kind name"):
        verify_strings([f"see {text} again"], sanitizer.harvested)


@pytest.mark.parametrize("text", ["a=20&b=3F", "\\x41\\x42 \\x00", "\\101\\102", "%u0041", "x == 20", "a =3D b"])
def test_what_holds_nothing_is_left(text: str) -> None:
    """To the letter."""
    assert Sanitizer(Policy(), KEY).text(text) == text
