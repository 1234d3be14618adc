"""Values of one project that draw the same surrogate: what is rare in large ranges, made common."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import strategies as st

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.surrogate import Mint

__all__ = ["FIELDS", "KEY", "PAIRS", "VALUES", "Value"]

KEY = bytes.fromhex("11" * 32)
Value = tuple[str, str]
"""A key that says what stands under it, and a value."""

FIELDS: dict[str, Kind] = {"zip": "postcode", "dob": "birth_date", "ip": "ip", "user_id": "account", "地址": "address"}
_DAY = date(1930, 1, 1)
_MANY: dict[str, list[str]] = {
    "zip": [str(number) for number in range(200_000, 200_600)],
    "dob": [(_DAY + timedelta(days=number * 17)).isoformat() for number in range(1200)],
    "ip": [f"93.184.{number // 250}.{number % 250 + 1}" for number in range(2500)],
    "user_id": [f"lena_vogt_{number}" for number in range(10, 50)],
    "地址": [f"Suite {number}" for number in range(1000, 4000)],
}


def _pairs(field: str) -> list[tuple[str, str]]:
    """Two of the values at a time of which each alone would have the surrogate of the other."""
    detector, met, found = Detector(Policy()), dict[str, str](), []
    for text in _MANY[field]:
        claim = detector.under_hint(FIELDS[field], text)
        assert claim is not None, text
        first = met.setdefault(Mint(KEY).surrogate(claim.kind, claim.norm, text), text)
        if first != text:
            found.append((first, text))
    return found


PAIRS: dict[str, list[tuple[str, str]]] = {field: _pairs(field) for field in FIELDS}
VALUES = st.sampled_from([(field, text) for field, pairs in PAIRS.items() for pair in pairs for text in pair])
