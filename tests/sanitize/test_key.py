"""The project key: made once, private, never shown."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from evalkit.errors import ConfigError
from evalkit.sanitize.key import KEY_BYTES, key_id, load_key, parse_key


def test_a_missing_key_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """The first call makes the file with mode 0600, the next reads the same key."""
    path = tmp_path / "config" / "evalkit" / "pseudonym.key"
    key = load_key(path)
    assert len(key) == KEY_BYTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key(path) == key
    assert os.listdir(path.parent) == ["pseudonym.key"]


def test_a_given_key_wins_over_the_file(tmp_path: Path) -> None:
    """A key from the environment is used, and no file is made."""
    path = tmp_path / "pseudonym.key"
    assert load_key(path, "ab" * 32) == b"\xab" * 32
    assert not path.exists()


@pytest.mark.parametrize("text", ["ab" * 32, base64.b64encode(b"\xab" * 32).decode(), " " + "AB" * 32 + "\n"])
def test_hex_and_base64_are_read(text: str) -> None:
    """Both spellings give the same key; white space around is no part of it."""
    assert parse_key(text) == b"\xab" * 32


@pytest.mark.parametrize("text", ["", "abcd", "not a key at all!", "ab" * 8 + "x"])
def test_a_bad_key_is_refused_without_being_shown(text: str) -> None:
    """A short or malformed key is a configuration error that doesn't repeat it."""
    with pytest.raises(ConfigError) as caught:
        parse_key(text, "somewhere")
    assert not text or text not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """An open key file is no secret; the cure is the command."""
    path = tmp_path / "pseudonym.key"
    load_key(path)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(path)


def test_the_key_id_names_the_key_without_giving_it_away() -> None:
    """Different keys have different names, and a name holds no part of the key."""
    assert key_id(b"a" * 32) != key_id(b"b" * 32)
    assert (b"a" * 32).hex()[:8] not in key_id(b"a" * 32)
