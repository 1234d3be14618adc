"""Values beside surrogates: whoever writes a surrogate next to a value hides nothing of it."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer

KEY = b"a test key of 32 bytes, no more."

SURROGATES = [
    "u0123456789ab@example.com",
    "0123456789abEXAMPLE",
    "16012345678",
    "4000 0024 4132 1005",
    "[email removed]",
    "[phone 0123456789abcdef]",
    "某天地玄黄",
    "京I12345",
    "953-11-4604",
    "198.18.7.9",
]
VALUES = {
    "lena.vogt@posteo.de": "lena.vogt",
    "13945671234": "1394567",
    "5500005555555559": "55555",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a": "292c69",
    "password=hunter2Zk9w": "hunter2",
    "Authorization: Bearer abcDEF123456ghiJKL7890": "DEF123",
    "lena_vogt_3668": "vogt",
    "postgres://bob:s3cr3tP4ss@db.acme.io/x": "s3cr3t",
    "收货人：张伟明": "张伟明",
    "4111 1111 1111 1111": "1111 1111",
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_a_surrogate_beside_a_value_hides_nothing(value: str, surrogate: str) -> None:
    """Both found as one match, or one inside of the other: what is found beside any other word is found here."""
    word = "bob@acme.com" if "@" in surrogate else "".join(map(like, surrogate))
    for sign in (" ", ",", ":", "/", ";", "|", "，", "-", "_", ".", "+", ""):
        for form in ("x {}" + sign + value + " y", "x " + value + sign + "{} y"):
            if not shows(value, form.format(word)):
                assert not shows(value, form.format(surrogate)), form.format(surrogate)


def like(char: str) -> str:
    """Another character of its kind."""
    return "7" if char.isdigit() else "Q" if char.isupper() else "q" if char.islower() else char


def shows(value: str, text: str) -> bool:
    """Whether something of a value is left in a text that is sanitized."""
    return VALUES[value] in str(Sanitizer(Policy(), KEY).value(text))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cookie", "a=0123456789abEXAMPLE; session=rawrawraw12345"),
        ("authorization", "Bearer 0123456789abEXAMPLE.rawraw99887766"),
        ("password", "rawraw-Zk9!0123456789abEXAMPLE"),
        ("api_key", "sk_live_rawraw77665544332211000123456789abEXAMPLE"),
        ("address", "12 Rawraw Street 0123456789abEXAMPLE"),
        ("email", "0123456789abEXAMPLE.rawraw@posteo.de"),
        ("email", "rawraw+u0123456789ab@posteo.de"),
    ],
)
def test_a_surrogate_is_one_as_a_whole(key: str, text: str) -> None:
    """What stands under a telling key is no surrogate because it holds one."""
    made: Any = Sanitizer(Policy(), KEY).value({key: text})
    assert "rawraw" not in made[key].lower()


def test_a_surrogate_alone_stays() -> None:
    """In all the frames in which one is written."""
    value: Any = {
        "api_key": "sk-ant-0123456789abEXAMPLE",
        "url": "postgres://bob:0123456789abEXAMPLE@db.acme.io/x",
        "private_key": "-----BEGIN PRIVATE KEY-----\n0123456789abEXAMPLE\n-----END PRIVATE KEY-----",
        "authorization": "Bearer 0123456789abEXAMPLE",
        "text": "ask+u0123456789ab@example.com, password=0123456789abEXAMPLE, Cookie: a=0123456789abEXAMPLE; b=light",
    }
    assert Sanitizer(Policy(), KEY).value(value) == value


@pytest.mark.parametrize(
    "text", ["mail ...lena.vogt@posteo.de now", "see .lena.vogt@posteo.de", "(..lena.vogt@posteo.de)"]
)
def test_dots_before_an_address_do_not_hide_it(text: str) -> None:
    """They are the sentence's."""
    assert "lena" not in str(Sanitizer(Policy(), KEY).value(text))
