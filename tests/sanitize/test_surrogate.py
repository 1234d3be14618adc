"""Surrogates: of the original's shape, in reserved ranges, known by everyone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.normal import luhn_digit
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.ranges import is_name_surrogate, is_surrogate
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.surrogate import Mint
from evalkit.sanitize.verify import verify_strings

KEY = b"surrogate test key, 32 bytes...."
DETECTOR = Detector(Policy())

SHAPES: list[tuple[Kind, str, str]] = [
    ("email", "mia@acme.com", r"u[0-9a-f]{12}@example\.com"),
    ("phone", "13945671234", r"1\d{10}"),
    ("phone", "+86 139-4567-1234", r"\+86 1\d\d-\d{4}-\d{4}"),
    ("phone", "(212) 555-7890", r"\([2-9]9\d\) [2-9]\d\d-\d{4}"),
    ("phone", "+44 20 7946 0958", r"\+44 00 0\d{3} \d{4}"),
    ("card", "4111 1111 1111 1111", r"4000 00\d\d \d{4} \d{4}"),
    ("iban", "GB82 WEST 1234 5698 7654 32", r"GB\d\d XXXX \d{4} \d{4} \d{4} \d\d"),
    ("ssn", "123-45-6789", r"9\d\d-[0-4]\d-\d{4}"),
    ("national_id", "11010519491231002X", r"1100001949\d{7}[\dX]"),
    ("ip", "93.184.216.34", r"198\.1[89]\.\d+\.\d+"),
    ("secret", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", r"ghp_[0-9a-f]{12}EXAMPLE"),
    ("name", "Mia Li", r"[A-Z][a-z]{11} [A-Z][a-z]{11}"),
    ("name", "MIA LI", r"[A-Z]{12} [A-Z]{12}"),
    ("name", "张伟", r"某.{4}"),
    ("account", "mia_li_3668", r"[a-z]{12}_[a-z]{12}_\d{4}"),
    ("payment", "credit_card_4421486", r"credit_card_9\d{11}"),
    ("payment", "550e8400-e29b-41d4-a716-446655440000", r"ffffffff-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"),
    ("address", "975 Sunset Drive", r"\d{3} [A-Z][a-z]{11} Street"),
    ("address", "Suite 217", r"Suite 0\d{6}"),
    ("birth_date", "1990-04-05", r"18\d\d-\d\d-\d\d"),
    ("birth_date", "April 5, 1990", r"[A-Z][a-z]+ \d{1,2}, 18\d\d"),
    ("birth_date", "1990年4月5日", r"18\d\d年\d{1,2}月\d{1,2}日"),
    ("postcode", "78750", r"00[1-4]\d\d-\d{4}"),
    ("postcode", "100020", r"99\d{4}"),
    ("postcode", "SW1A 1AA", r"ZZ99 [0-9A-F]{6}"),
]


def surrogate_of(kind: Kind, value: str, key: bytes = KEY) -> str:
    """The surrogate of a value under a key of its kind."""
    claim = DETECTOR.under_hint(kind, value)
    assert claim is not None
    return Mint(key).surrogate(kind, claim.norm, value)


@pytest.mark.parametrize(("kind", "value", "shape"), SHAPES)
def test_a_surrogate_keeps_the_shape(kind: Kind, value: str, shape: str) -> None:
    """Grouping, case, country and prefix are the original's."""
    assert re.fullmatch(shape, surrogate_of(kind, value))


@pytest.mark.parametrize(("kind", "value", "_"), SHAPES)
def test_a_surrogate_is_known_without_the_key(kind: Kind, value: str, _: str) -> None:
    """Its range is reserved: no detector takes it for a real value again."""
    assert DETECTOR.under_hint(kind, surrogate_of(kind, value)) is None


@pytest.mark.parametrize(("kind", "value", "_"), SHAPES)
def test_another_key_gives_another_surrogate(kind: Kind, value: str, _: str) -> None:
    """Without the key nobody can compute a surrogate."""
    assert surrogate_of(kind, value) != surrogate_of(kind, value, b"another key, also 32 bytes long.")


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("email", "Mia@ACME.com", "mia@acme.com"),
        ("phone", "+86 139 4567 1234", "13945671234"),
        ("phone", "(212) 555-7890", "+1 212.555.7890"),
        ("card", "4111-1111-1111-1111", "4111111111111111"),
        ("iban", "GB82WEST12345698765432", "gb82 west 1234 5698 7654 32"),
        ("birth_date", "April 5, 1990", "1990/04/05"),
    ],
)
def test_spellings_of_one_value_share_a_surrogate(kind: Kind, one: str, other: str) -> None:
    """The surrogate is drawn from the normal form and only spelled like the original."""
    claims = [DETECTOR.under_hint(kind, text) for text in (one, other)]
    assert claims[0] is not None
    assert claims[1] is not None
    assert Mint(KEY).core(kind, claims[0].norm) == Mint(KEY).core(kind, claims[1].norm)


def test_names_go_word_by_word() -> None:
    """A given name alone, in full, and in a user id has the same surrogate."""
    mint = Mint(KEY)
    full = mint.surrogate("name", "mia li", "Mia Li").split()
    assert mint.surrogate("name", "mia", "mia") == full[0].lower()
    assert mint.surrogate("account", "mia_li_3668", "mia_li_3668").startswith(f"{full[0]}_{full[1]}_".lower())


def test_card_and_id_surrogates_pass_their_checks() -> None:
    """Luhn, mod 97 and GB 11643 hold, so that an agent's own validation doesn't trip."""
    card = surrogate_of("card", "4111111111111111")
    assert luhn_digit(card[:-1]) == int(card[-1])
    iban = surrogate_of("iban", "DE89370400440532013000")
    assert int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1
    person = surrogate_of("national_id", "11010519491231002X")
    total = sum(int("10" if c == "X" else c) * 2 ** (17 - i) for i, c in enumerate(person))
    assert total % 11 == 1


@given(st.integers(0, 999_999))
def test_real_ids_are_not_taken_for_surrogates(number: int) -> None:
    """An id of ordinary length is never skipped as if it were a surrogate."""
    assert not is_surrogate("payment", f"credit_card_{number:07}")


@pytest.mark.parametrize("name", ["Mia", "Yamamoto", "Takahashi", "Nakamura", "Garibaldi", "Modigliani", "Hadiwibowo"])
def test_real_names_are_not_taken_for_surrogates(name: str) -> None:
    """A name of six such syllables with the right check is all but impossible."""
    assert not is_name_surrogate(name)


def test_a_crowded_range_still_tells_values_apart() -> None:
    """Two thousand values in a range of ten thousand all differ, and the order of asking is all that decides."""
    norms = [f"{number:06}" for number in range(100_000, 102_000)]
    mint, again = Mint(KEY), Mint(KEY)
    cores = [mint.core("postcode", norm) for norm in norms]
    assert len(set(cores)) == len(norms)
    assert [again.core("postcode", norm) for norm in norms] == cores


def test_a_used_up_range_is_an_error() -> None:
    """No two values ever share a surrogate: when none is left, sanitizing stops."""
    mint = Mint(KEY)
    with pytest.raises(SanitizationFailed, match="postcode"):
        fill(mint)


def fill(mint: Mint) -> None:
    """Ask for one surrogate more than the range of six-digit postcodes holds."""
    for number in range(100_000, 110_001):
        mint.core("postcode", str(number))


@pytest.mark.parametrize("user", ["lena-vogt-7f3a9c", "lena.vogt.4a7", "lena_7f3a9c", "u:lena:vogt:77", "vogt+lena-77"])
@pytest.mark.parametrize("key", ["user_id", "payment_id"])
def test_an_id_names_nobody_however_it_goes_on(key: str, user: str) -> None:
    """Hex behind a name, other signs between: the words in it are names and go as names do, in the id's own shape."""
    sanitizer = Sanitizer(Policy(), KEY)
    made: Any = sanitizer.value({"user_id": user, key: user, "name": "Lena Vogt"})
    given, family = made["name"].lower().split()
    assert made["user_id"] == made[key]
    assert re.sub("[^\\W_]", "", made[key]) == re.sub("[^\\W_]", "", user)
    assert given in made[key]
    assert "vogt" not in user or family in made[key]
    assert not re.search("lena|vogt", made[key])
    verify_strings([str(made)], sanitizer.harvested)
    assert Sanitizer(Policy(), KEY).value(made) == made


@pytest.mark.parametrize("user", ["cus_9f8a7b6c", "acct_1A2b3C4d", "usr_01HZX3", "emp-00123"])
def test_an_ids_prefix_is_nobodys_name(user: str) -> None:
    """It says what kind of id it is, and agents look at it."""
    made = surrogate_of("account", user)
    assert re.fullmatch(re.split("[_-]", user)[0] + r"[_-]9\d{11}", made)
