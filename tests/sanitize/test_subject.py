"""A subject is found by its surrogates and is taken out: nothing left leads back, and all places still agree."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.subject import REMOVED, Subject

KEY, OTHER_KEY = b"subject test key, 32 bytes......", b"another subject test key, 32...."
LENA: dict[str, Any] = {
    "name": {"first_name": "Lena", "last_name": "Vogt"},
    "user_id": "lena_vogt_4711",
    "email": "lena.vogt@posteo-mail.de",
    "phone": "+1 415-867-5309",
    "card_number": "4539 1488 0343 6467",
    "ssn": "457-55-5462",
    "passport_no": "C01X00T47",
}
MAX: dict[str, Any] = {
    "name": {"first_name": "Max", "last_name": "Meier"},
    "user_id": "max_meier_9215",
    "email": "max@meier-privat.de",
}


def subject(*names: str, key: bytes = KEY, policy: Policy | None = None) -> Subject:
    """A subject of the project."""
    return Subject.named(names, policy or Policy(), key)


def sanitized(*values: Any) -> Any:
    """Values as a case file would hold them."""
    return Sanitizer(Policy(), KEY).value(list(values))


def texts(node: Any) -> list[str]:
    """The leaves of a JSON value as texts."""
    if isinstance(node, dict):
        return [text for item in node.values() for text in texts(item)]
    return [text for item in node for text in texts(item)] if isinstance(node, list) else [str(node)]


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("name", "lena VOGT"),
        ("name", "Vogt, Lena"),
        ("email", "Lena.Vogt@Posteo-Mail.de"),
        ("user_id", "lena_vogt_4711"),
        ("phone", "(415) 867-5309"),
        ("card_number", "4539148803436467"),
        ("ssn", "457555462"),
        ("passport_no", "C01X00T47"),
    ],
)
def test_a_subject_is_found_however_it_is_called(field: str, named: str) -> None:
    """By name, e-mail, id and number, in any usual spelling; another's record is left alone."""
    lena, other = sanitized({field: LENA[field]}, MAX)
    assert subject(named).presence(texts(lena)) == "whole"
    assert subject(named).presence(texts(other)) == "none"


@pytest.mark.parametrize("named", ["Lena Vogt", "lena.vogt@posteo-mail.de", "lena_vogt_4711", "415-867-5309"])
def test_what_is_erased_is_gone_and_the_rest_stands(named: str) -> None:
    """After erasing, the subject is not found, by the same name and key; what is not about them is as before."""
    found = subject(named)
    before = sanitized(LENA, MAX, f"Mail to {LENA['email']} and {MAX['email']}, call +14158675309, for Lena Vogt")
    after = found.eraser().value(before)
    assert found.presence(texts(after)) == "none"
    assert after[1] == before[1]
    assert before[1]["email"] in after[2]


def test_all_places_of_one_value_still_agree() -> None:
    """The id that a lookup gave is the id that a later call names: a replay still matches."""
    given, used, nested = sanitized(LENA, {"user": LENA["user_id"]}, json.dumps({"to": LENA["email"]}))
    after = subject("lena_vogt_4711", LENA["email"]).eraser().value([given, used, nested])
    assert after[0]["user_id"] == after[1]["user"] != given["user_id"]
    assert after[0]["email"] == json.loads(after[2])["to"] != given["email"]


def test_stand_ins_keep_shape_and_lead_nowhere() -> None:
    """Two erasers give two stand-ins: they follow from no key that is kept. The sanitizer takes them for surrogates."""
    found = subject(LENA["email"], LENA["phone"])
    value = sanitized({"email": LENA["email"], "phone": LENA["phone"]})[0]
    one, two = found.eraser().value(value), found.eraser().value(value)
    assert len({one["email"], two["email"], value["email"]}) == 3
    assert one["email"].endswith("@example.com")
    assert [char.isdigit() for char in one["phone"]] == [char.isdigit() for char in value["phone"]]
    assert Sanitizer(Policy(), OTHER_KEY).value(one) == one


def test_half_a_name_is_not_the_person() -> None:
    """Lena Meier is not Lena Vogt: told, and not taken."""
    other = sanitized({"customer_name": "Lena Meier"})
    assert subject("Lena Vogt").presence(texts(other)) == "part"


def test_chinese_names_are_found_in_all_encodings() -> None:
    """As they are, as JSON escapes, percent-encoded."""
    found = subject("王小明")
    name = sanitized({"姓名": "王小明"})[0]["姓名"]
    for text in (name, f"客户{name}来电", json.dumps({"n": name}), quote(name)):
        assert found.presence((text,)) == "whole", text
        assert found.presence((found.eraser().text(text),)) == "none", text


def test_one_address_is_not_the_start_of_another() -> None:
    """An IP address beside Chinese characters is found; a longer one that starts alike is somebody else's."""
    found = subject("203.0.114.7")
    address = sanitized({"ip": "203.0.114.7"})[0]["ip"]
    assert found.presence((f"来自{address}的请求",)) == "whole"
    assert found.presence((f"from {address}1",)) == "none"


@pytest.mark.parametrize("text", ["+8613945671234", "+86 139 4567 1234", "电话13945671234联系"])
def test_an_original_phone_number_is_found_with_its_country(text: str) -> None:
    """Where sanitizing was told to leave it."""
    found = subject("13945671234")
    assert found.presence((text,)) == "whole"
    assert found.presence((found.eraser().text(text),)) == "none"


def test_numbers_are_found_as_json_numbers() -> None:
    """A phone number that stands as an integer."""
    value = sanitized({"phone": 4158675309, "ssn": 457555462})
    found = subject("415-867-5309", "457-55-5462")
    assert found.presence(texts(value)) == "whole"
    after = found.eraser().value(value)[0]
    assert all(isinstance(number, int) for number in after.values())
    assert found.presence(texts(after)) == "none"


def test_what_is_encoded_goes_as_a_whole() -> None:
    """In base64 nothing can be replaced in place."""
    email = sanitized({"email": LENA["email"]})[0]["email"]
    found = subject(LENA["email"])
    text = base64.b64encode(f"xx{email}yy".encode()).decode()
    assert found.presence((text,)) == "whole"
    assert found.eraser().text(text) == REMOVED


def test_the_original_itself_is_taken_out_too() -> None:
    """It stands in the open where the rules let it: an allowed address."""
    policy = Policy(allow=frozenset({LENA["email"]}))
    kept = Sanitizer(policy, KEY).value({"email": LENA["email"]})
    found = subject(LENA["email"], policy=policy)
    assert found.presence(texts(kept)) == "whole"
    assert "posteo" not in json.dumps(found.eraser().value(kept))


def test_a_marked_or_redrawn_surrogate_is_known() -> None:
    """Where the policy made a keyed mark of it."""
    policy = Policy(actions={"email": "hash"})
    kept = Sanitizer(policy, KEY).value({"email": LENA["email"]})
    found = subject(LENA["email"], policy=policy)
    assert found.presence(texts(kept)) == "whole"
    assert found.presence(texts(found.eraser().value(kept))) == "none"


@pytest.mark.parametrize("named", ["", "  ", "no", "???"])
def test_what_names_nobody_is_refused(named: str) -> None:
    """And the refusal does not repeat it."""
    with pytest.raises(InputError, match="no name, e-mail, number or id"):
        subject(named)


def test_another_key_finds_nothing() -> None:
    """Whoever lacks the key can't ask."""
    assert subject(LENA["email"], key=OTHER_KEY).presence(texts(sanitized(LENA))) == "none"


WORD = st.text("abcdefghijklmnoprstuvwyz", min_size=4, max_size=9)
HANDLE = st.builds("{}_{}_{}".format, WORD, WORD, st.integers(1000, 9999))


@settings(max_examples=20, deadline=None)
@given(mine=WORD, other=WORD, handle=HANDLE)
def test_any_address_and_id_can_be_erased(mine: str, other: str, handle: str) -> None:
    """For any values: gone in all places, and the neighbour stays."""
    email, neighbour = f"{mine}@posteo-mail.de", f"{other}x@posteo-mail.de"
    before = sanitized(
        {"email": email, "user_id": handle}, {"email": neighbour}, f"{email};{neighbour}", json.dumps({"user": handle})
    )
    found = subject(email, handle)
    after = found.eraser().value(before)
    assert found.presence(texts(after)) == "none"
    if neighbour != email:
        assert after[1] == before[1]
        assert after[2] == f"{after[0]['email']};{before[1]['email']}"
