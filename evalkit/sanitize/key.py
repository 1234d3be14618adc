"""The project key that pseudonyms are made with. It lives outside the repository.

Whoever holds the key can try values (all phone numbers, say) until a pseudonym matches: it is as secret as the data.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from pathlib import Path

from evalkit.errors import ConfigError

__all__ = ["KEY_BYTES", "key_at_hand", "key_id", "load_key", "own_key_file", "parse_key"]

KEY_BYTES = 32
_MIN_BYTES = 16


def load_key(path: Path | None = None, given: str | None = None, *, make: bool = True) -> bytes:
    """The project key: `given` if there is one, else the content of a file, which is made when it is missing.

    Args:
        make: whether a missing one is made; by another one nothing is found in what was sanitized.
        path: the key file; None for ``~/.config/evalkit/pseudonym.key``. A new one holds 32 random bytes as hex and
            is readable by its owner only.
        given: the key as hex or base64, such as the value of ``EVALKIT_PSEUDONYM_KEY``; empty for none.

    Raises:
        ConfigError: the key is malformed or too short, or others may read the file, or it can't be read or made.
    """
    if given:
        return parse_key(given, "EVALKIT_PSEUDONYM_KEY")
    path = path or own_key_file()
    try:
        if not path.exists():
            if not make:
                raise ConfigError(
                    "there is no project key, and without it nothing is found in what was sanitized",
                    str(path),
                    "set EVALKIT_PSEUDONYM_KEY or key_file to the key that the cases were made with",
                )
            _create(path)
        if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError("others may read the pseudonym key", str(path), f"chmod 600 {path}")
        return parse_key(path.read_text("ascii", errors="replace"), str(path))
    except OSError as error:
        raise ConfigError(
            f"the pseudonym key can't be read or made: {error.strerror}", str(path), "set EVALKIT_PSEUDONYM_KEY"
        ) from None


def key_at_hand(path: Path | None = None, given: str | None = None) -> bytes:
    """The project key for outputs of replays, where none is made: a machine that only replays may have none.

    There a random key of this process hides values just as well; only those that a recording holds too are not found to
    be the same.

    Raises:
        ConfigError: there is a key, and it can't be used.
    """
    if not given and not (path or own_key_file()).exists():
        return os.urandom(KEY_BYTES)
    return load_key(path, given)


def own_key_file() -> Path:
    """Where the user's own key is, outside of any repository."""
    return Path.home() / ".config" / "evalkit" / "pseudonym.key"


def parse_key(text: str, where: str = "") -> bytes:
    """The key that `text` spells in hex or base64, 16 bytes at least.

    Raises:
        ConfigError: it spells none. The text itself is never shown.
    """
    stripped = text.strip()
    try:
        key = bytes.fromhex(stripped)
    except ValueError:
        key = _from_base64(stripped)
    if len(key) < _MIN_BYTES:
        raise ConfigError(
            f"a pseudonym key is {_MIN_BYTES} bytes or more in hex or base64, this is none",
            where,
            "python -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return key


def key_id(key: bytes) -> str:
    """A name for `key` that doesn't give it away: 16 hex digits."""
    return hashlib.sha256(b"evalkit pseudonym key\0" + key).hexdigest()[:16]


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(os.urandom(KEY_BYTES).hex() + "\n")
        os.link(fresh, path)  # unlike a rename, it leaves the key of a process that came first
    except FileExistsError:
        return
    finally:
        fresh.unlink()
