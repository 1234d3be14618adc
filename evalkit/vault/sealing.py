"""Encrypting so that whoever writes can't read: AES-256-GCM under a fresh data key, which is wrapped with age.

The data key is used for one trace and is kept nowhere but wrapped to the recipients' public keys
(age-encryption.org/v1, X25519). Destroying the wrapped key destroys the trace, wherever copies of its ciphertext may
be; a copy of the wrapped key would still open it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from evalkit.errors import ConfigError, InputError, IntegrityError, MissingExtra

__all__ = ["Sealed", "check_recipients", "open_sealed", "parse_identities", "require_extra", "seal"]

_NONCE_BYTES = 12
_MAX_BYTES = 2**31 - 2**10
"""What one call of AES-GCM takes."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A ciphertext and its wrapped key.

    Attributes:
        data: the nonce of 12 bytes, then the ciphertext with its tag.
        wrapped_key: the data key as an age file.
    """

    data: bytes
    wrapped_key: bytes


def seal(plain: bytes, recipients: Sequence[str], about: bytes) -> Sealed:
    """`plain` encrypted for `recipients`; `about` is authenticated with it and must be given again to open it.

    Raises:
        ConfigError: a recipient is none.
        InputError: too large for one piece of AES-GCM (2 GiB).
        MissingExtra: the packages are not installed.
    """
    ciphers, age = require_extra()
    keys = _recipients(age, recipients)
    if len(plain) > _MAX_BYTES:
        raise InputError(f"{len(plain)} bytes are more than can be kept as evidence", cure="split the trace")
    data_key = ciphers.AESGCM.generate_key(256)
    nonce = os.urandom(_NONCE_BYTES)
    return Sealed(nonce + ciphers.AESGCM(data_key).encrypt(nonce, plain, about), age.encrypt(data_key, keys))


def open_sealed(sealed: Sealed, identities: Sequence[Any], about: bytes, where: str) -> bytes:
    """What was sealed.

    Args:
        identities: of `parse_identities`.

    Raises:
        InputError: none of the identities is a recipient.
        IntegrityError: ciphertext, key or `about` is not what was sealed.
    """
    ciphers, age = require_extra()
    try:
        data_key = age.decrypt(sealed.wrapped_key, list(identities))
    except age.DecryptError as error:
        if "No matching keys" in str(error):
            raise InputError(
                "none of the identities may read this", where, "pass the identity of one of the recipients"
            ) from None
        raise IntegrityError(
            f"the wrapped key is broken: {error}", where, "restore the evidence folder from a copy"
        ) from None
    from cryptography.exceptions import InvalidTag  # lazy: of the extra

    try:
        plain: bytes = ciphers.AESGCM(data_key).decrypt(sealed.data[:_NONCE_BYTES], sealed.data[_NONCE_BYTES:], about)
    except (InvalidTag, ValueError):
        raise IntegrityError(
            "the ciphertext is cut off or was changed after writing", where, "restore the evidence folder from a copy"
        ) from None
    return plain


def check_recipients(recipients: Sequence[str]) -> None:
    """Refuse what is no age recipient.

    Raises:
        ConfigError: there is none, or one is malformed.
    """
    _recipients(require_extra()[1], recipients)


def parse_identities(text: str, where: str) -> list[Any]:
    """The identities of an identity file as age-keygen writes it.

    Raises:
        InputError: it holds none. The text itself is never shown.
    """
    age = require_extra()[1]
    found = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            try:
                found.append(age.x25519.Identity.from_str(line.strip()))
            except age.IdentityError:
                raise InputError("a line is no age identity", where, "pass a file that age-keygen wrote") from None
    if not found:
        raise InputError("no age identity is in it", where, "pass a file that age-keygen wrote")
    return found


def require_extra() -> tuple[ModuleType, ModuleType]:
    """The modules for AES-GCM and age.

    Raises:
        MissingExtra: they are not installed.
    """
    try:
        import pyrage  # lazy: of the extra
        from cryptography.hazmat.primitives.ciphers import aead
    except ImportError as error:
        raise MissingExtra(
            f"keeping raw evidence needs the package {(error.name or 'pyrage').partition('.')[0]}",
            "evidence",
            "pip install 'evalkit[vault]'",
        ) from None
    return aead, pyrage


def _recipients(age: ModuleType, recipients: Sequence[str]) -> list[Any]:
    if not recipients:
        raise ConfigError(
            "no recipient may read the evidence",
            "[evidence] recipients",
            'age-keygen -o evidence.key prints one: recipients = ["age1..."]',
        )
    found = []
    for text in recipients:
        try:
            found.append(age.x25519.Recipient.from_str(text.strip()))
        except age.RecipientError:
            raise ConfigError(
                f"{text[:80]!r} is no age recipient", "[evidence] recipients", "age-keygen -y evidence.key prints it"
            ) from None
    return found
