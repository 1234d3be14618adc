"""What is sealed can be read by a recipient and by nobody else, and not a byte of it can be changed unseen."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import ConfigError, InputError, IntegrityError, MissingExtra
from evalkit.vault.sealing import check_recipients, open_sealed, parse_identities, seal

pyrage = pytest.importorskip("pyrage", reason="needs the extra vault")
ANN, BOB = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()


def public(identity: object) -> str:
    """The recipient of an identity."""
    return str(identity.to_public())  # type: ignore[attr-defined]


@settings(max_examples=25, deadline=None)
@given(plain=st.binary(max_size=2000), about=st.binary(max_size=50))
def test_a_round_trip_for_every_recipient(plain: bytes, about: bytes) -> None:
    """Each recipient alone can read what was written for both."""
    sealed = seal(plain, [public(ANN), public(BOB)], about)
    assert [open_sealed(sealed, [one], about, "x") for one in (ANN, BOB)] == [plain, plain]


def test_a_wrong_identity_reads_nothing() -> None:
    """It is told so, which is another thing than broken."""
    with pytest.raises(InputError, match="none of the identities may read"):
        open_sealed(seal(b"raw", [public(ANN)], b""), [BOB], b"", "x")


def test_each_byte_is_authenticated() -> None:
    """A flipped bit anywhere in nonce, ciphertext or wrapped key, a cut, and an exchanged description are refused."""
    sealed = seal(b"raw" * 20, [public(ANN)], b"about")
    for at in range(len(sealed.data)):
        data = sealed.data[:at] + bytes([sealed.data[at] ^ 1]) + sealed.data[at + 1 :]
        with pytest.raises(IntegrityError):
            open_sealed(replace(sealed, data=data), [ANN], b"about", "x")
    for size in (0, 5, 12, len(sealed.data) - 1):
        with pytest.raises(IntegrityError):
            open_sealed(replace(sealed, data=sealed.data[:size]), [ANN], b"about", "x")
    with pytest.raises(IntegrityError):
        open_sealed(sealed, [ANN], b"about other", "x")
    for wrapped in (b"", sealed.wrapped_key[:-1], sealed.wrapped_key[:-1] + b"\0", b"age-encryption.org/v1\n"):
        with pytest.raises(IntegrityError):
            open_sealed(replace(sealed, wrapped_key=wrapped), [ANN], b"about", "x")


def test_no_two_are_sealed_alike() -> None:
    """Key and nonce are fresh each time."""
    one, two = seal(b"same", [public(ANN)], b""), seal(b"same", [public(ANN)], b"")
    assert one.data != two.data
    assert one.wrapped_key != two.wrapped_key


@pytest.mark.parametrize("recipients", [[], ["age1abc"], ["ssh-ed25519 AAAA"], [str(ANN)]])
def test_what_is_no_recipient_is_refused(recipients: list[str]) -> None:
    """An identity, too: it would be a secret in the settings."""
    with pytest.raises(ConfigError):
        check_recipients(recipients)


def test_an_identity_file_is_read_as_age_writes_it() -> None:
    """Comments and blank lines are passed over; what is none is refused and not repeated."""
    assert len(parse_identities(f"# created\n\n{ANN}\n{BOB}\n", "x")) == 2
    for text in ("", "# only a comment\n", "AGE-SECRET-KEY-1WRONG\n"):
        with pytest.raises(InputError) as caught:
            parse_identities(text, "x")
        assert "WRONG" not in str(caught.value)


@pytest.mark.parametrize("package", ["pyrage", "cryptography.hazmat.primitives.ciphers"])
def test_a_missing_extra_names_the_cure(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which package, and how to install it."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'evalkit\[vault\]'") as caught:
        seal(b"", [public(ANN)], b"")
    assert package.partition(".")[0] in caught.value.what
