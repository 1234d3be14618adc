"""A policy's own rules are checked when they are made and change what is replaced."""

from __future__ import annotations

import json

import pytest

from evalkit.canonical import Json
from evalkit.errors import ConfigError
from evalkit.sanitize.digests import rules_digest
from evalkit.sanitize.policy import KINDS, Policy
from evalkit.sanitize.sanitizer import Sanitizer

KEY = b"policy test key, 32 bytes long.."


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"hints": {"customer_ref": "person"}}, "no kind"),
        ({"actions": {"name": "blur"}}, "no action"),
        ({"patterns": (("custom", "(?<=x)y"),)}, "no RE2"),
        ({"patterns": (("custom", "a*"),)}, "empty"),
    ],
)
def test_a_wrong_rule_is_refused_at_once(rules: dict[str, object], said: str) -> None:
    """A policy that can't work is a configuration error that says what is wrong."""
    with pytest.raises(ConfigError, match=said):
        Policy(**rules)  # type: ignore[arg-type]  # wrong on purpose


def test_a_policy_reaches_another_process_as_it_is() -> None:
    """Through JSON; what is no policy is refused."""
    policy = Policy("7", frozenset({"a", "b"}), {"ref": "custom"}, (("custom", "x+"),), {"email": "drop"})
    assert Policy.from_json(json.loads(json.dumps(policy.as_json()))) == policy
    for wrong in (None, {}, {**policy.as_json(), "patterns": ["x"]}):
        with pytest.raises(ConfigError, match="no sanitization rules"):
            Policy.from_json(wrong)


def test_secrets_come_before_everything() -> None:
    """A text that is both a secret and something else is treated as a secret."""
    assert KINDS[0] == "secret"


def test_allowed_strings_stay() -> None:
    """What the allow list names is never replaced, under a key or in a text."""
    value: Json = {"email": "help@acme.com", "text": "write to help@acme.com or mia@acme.com"}
    clean = Sanitizer(Policy(allow=frozenset({"help@acme.com"})), KEY).value(value)
    assert isinstance(clean, dict)
    assert clean["email"] == "help@acme.com"
    assert "help@acme.com" in str(clean["text"])
    assert "mia@" not in str(clean["text"])


def test_a_key_hint_of_ones_own_marks_its_value() -> None:
    """A hint works whatever case and separators the key has, and its value is found elsewhere too."""
    sanitizer = Sanitizer(Policy(hints={"loyalty-no": "custom"}), KEY)
    clean = sanitizer.value({"LoyaltyNo": "LX-20931", "text": "card LX-20931."})
    assert "20931" not in str(clean)


def test_a_pattern_of_ones_own_finds_its_group() -> None:
    """The first group of a pattern is the value; without a group the whole match is."""
    sanitizer = Sanitizer(Policy(patterns=(("custom", r"ticket (T\d{6})"), ("custom", r"\bZQ\d{5}\b"))), KEY)
    clean = str(sanitizer.value("see ticket T123456 and ZQ54321"))
    assert clean.startswith("see ticket T9")
    assert "123456" not in clean
    assert "54321" not in clean


def test_a_pattern_may_be_of_any_kind_and_have_an_idle_group() -> None:
    """A phone pattern gives phone surrogates; where a group takes no part in the match, nothing happens."""
    sanitizer = Sanitizer(Policy(patterns=(("phone", r"ext (\d{7})"), ("custom", r"Q(-\d+)?Q"))), KEY)
    clean = sanitizer.text("QQ, ext 5551234, Q-77123Q")
    assert clean.startswith("QQ, ext 000")
    assert "77123" not in clean


@pytest.mark.parametrize(("action", "wanted"), [("keep", "mia@acme.com"), ("drop", "[email removed]")])
def test_an_action_decides_what_becomes_of_a_kind(action: str, wanted: str) -> None:
    """`keep` leaves values as they are, `drop` leaves a mark."""
    clean = Sanitizer(Policy(actions={"email": action}), KEY).value({"email": "mia@acme.com"})  # type: ignore[dict-item]  # from the table above
    assert clean == {"email": wanted}


def test_hashed_values_are_equal_where_the_values_are() -> None:
    """`hash` leaves a keyed digest: the same for the same value, another for another."""
    sanitizer = Sanitizer(Policy(actions={"email": "hash"}), KEY)
    first, again, other = (sanitizer.text(text) for text in ("mia@acme.com", "MIA@acme.com", "ben@acme.com"))
    assert first == again != other
    assert first.startswith("[email ")
    assert sanitizer.text(first) == first


def test_the_rules_digest_names_the_rules() -> None:
    """Another rule gives another digest, the same rules the same."""
    assert rules_digest(Policy()) == rules_digest(Policy())
    assert rules_digest(Policy()) != rules_digest(Policy(hints={"x": "name"}))
