"""What is learnt anywhere is replaced everywhere, the same way each time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from evalkit.errors import InputError, SanitizationFailed
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, StepError, Trace

KEY = b"sanitizer test key, 32 bytes...."


def clean(value: Any) -> Any:
    """One value through a fresh sanitizer."""
    return Sanitizer(Policy(), KEY).value(value)


def test_what_a_key_gives_away_is_replaced_in_every_text() -> None:
    """Names, addresses and birth dates known from an object go from prose too, in other spellings."""
    value = {
        "user": {"first_name": "Yusuf", "last_name": "Rossi", "dob": "1990-04-05", "address1": "975 Sunset Drive"},
        "text": "Yusuf's file: ROSSI, born April 5, 1990 at 975 Sunset Drive. yusuf rossi wrote; user yusuf_rossi.",
    }
    made = clean(value)
    for original in ("usuf", "ossi", "OSSI", "1990", "Sunset"):
        assert original not in json.dumps(made)
    assert made["user"]["first_name"] + "'s file" in made["text"]
    assert made["user"]["last_name"].upper() + "," in made["text"]


def test_short_and_common_names_go_only_with_their_owner() -> None:
    """`Li` and `Brown` go under their keys, in the full name and after a title, but `brown` stays a colour."""
    made = clean(
        {
            "people": [{"first_name": "Mia", "last_name": "Li"}, {"first_name": "Noah", "last_name": "Brown"}],
            "text": "Mia Li, Noah Brown and Mr. Brown like brown bags from MIA; Li stands for lithium.",
        }
    )
    text = made["text"]
    assert "Brown" not in text
    assert "Mia Li" not in text
    assert text.endswith("like brown bags from MIA; Li stands for lithium.")
    assert made["people"][1]["last_name"] not in ("Brown", "brown")


def test_a_chinese_name_that_is_a_usual_word_goes_only_with_its_key() -> None:
    """A person may be called as a peak is: peaks stay."""
    made = clean({"收货人": "高峰", "联系人": "王建国", "text": "晚高峰，王建国不方便"})
    assert made["收货人"] != "高峰"
    assert made["text"] == f"晚高峰，{made['联系人']}不方便"


def test_greetings_and_titles_before_a_name_stay() -> None:
    """A surrogate stands for the name alone: a text reads on as it was written."""
    people = [{"first_name": "Grace", "last_name": "Hall"}, {"full_name": "Dr. Mia Keller"}]
    said = "Dear Grace, my name is Grace. Ask Mr. Hall or Dr. Mia Keller, MRS. MIA KELLER."
    made = clean({"people": people, "text": said})
    name = r"[A-Z][a-z]{11}"
    text = rf"Dear {name}, my name is {name}\. Ask Mr\. {name} or Dr\. {name} {name}, MRS\. [A-Z]{{12}} [A-Z]{{12}}\."
    assert re.fullmatch(text, made["text"])
    assert made["people"][1]["full_name"].startswith("Dr. ")


def test_the_last_four_digits_follow_their_card_and_phone() -> None:
    """Behind words that say so, in prose; the same digits elsewhere are a count or a year."""
    said = "The card ending in 1111 is valid, 尾号5678的手机, ending in 11112, room 1111"
    made = clean({"card_number": "4111 1111 1111 1111", "phone": "13812345678", "text": said})
    card, phone = made["card_number"][-4:], made["phone"][-4:]
    assert made["text"] == f"The card ending in {card} is valid, 尾号{phone}的手机, ending in 11112, room 1111"


def test_a_tools_own_name_is_no_persons_name() -> None:
    """A word of a tool's name is not replaced in it, whoever bears it: the tool must still be found."""
    step = Step(0, "tool", "ask_claude", {"first_name": "Claude", "question": "Is Claude in?"})
    made = Sanitizer(Policy(), KEY).sanitize([Trace("t", "a", "evalkit", (step,))])[0].trace.steps[0]
    assert made.name == "ask_claude"
    assert made.input["first_name"] != "Claude"  # type: ignore[index, call-overload]  # an object, as above


def test_json_in_strings_is_walked_and_keeps_its_style() -> None:
    """Keys inside nested JSON give their values away, three levels deep; spacing and escapes stay."""
    inner = json.dumps({"full_name": "张小伟", "n": 1}, separators=(",", ":"))
    outer = json.dumps({"result": inner, "ok": True}, indent=2)
    made = clean({"content": outer, "text": "找张小伟"})
    assert "张小伟" not in made["content"] + made["text"]
    assert "\\u5f20" not in made["content"]
    again = json.loads(made["content"])
    assert json.dumps(again, indent=2) == made["content"]
    assert again["result"].startswith('{"full_name":"\\u')


def test_strings_that_hold_nothing_stay_to_the_letter() -> None:
    """JSON in a string is not even reformatted when nothing in it is replaced."""
    value = {"content": '{"a" :1.50, "b":[ ]}', "arguments": "{'python': 1}", "broken": '{"a": '}
    assert clean(value) == value


def test_urls_headers_and_keys_are_read() -> None:
    """Percent-encoded values, header lists and object keys hold personal data too."""
    made = clean(
        {
            "url": "https://shop.io/o?email=mia%40acme.com&name=Yusuf%20Rossi",
            "headers": [{"name": "Authorization", "value": "Bearer abcdEFGH12345678"}],
            "by_mail": {"mia@acme.com": {"full_name": "Yusuf Rossi"}},
        }
    )
    text = json.dumps(made)
    assert made["url"].startswith("https://shop.io/o?email=u")
    for original in ("mia", "Yusuf", "abcdEFGH"):
        assert original not in text
    assert made["headers"][0]["value"].startswith("Bearer ")
    assert next(iter(made["by_mail"])).replace("@", "%40") in made["url"]


@pytest.mark.parametrize(
    "url", ["redis://bob:pw@cache:6379", "https://bob:pw@shop.io/x", "db+x://bob:Long-Pass-9@h.io"]
)
def test_a_password_in_a_url_goes_however_short(url: str) -> None:
    """It is looked for with its frame, so that two letters don't have to be replaced everywhere."""
    made = clean([url, "pw stands for password"])
    assert ":pw@" not in made[0]
    assert "Long" not in made[0]
    assert made[1] == "pw stands for password"
    assert clean(made) == made


def test_derived_forms_follow_their_value() -> None:
    """E.164, masked and bare spellings of a phone, and the last four of a card, agree with the full value."""
    made = clean(
        {
            "phone": "138-1234-5678",
            "log": "dialled +8613812345678, shown as 138****5678",
            "card_number": "4111 1111 1111 1234",
            "last_four": "1234",
            "number_of_rooms": "1234",
        }
    )
    digits = made["phone"].replace("-", "")
    assert made["log"] == f"dialled +86{digits}, shown as {digits[:3]}****{digits[-4:]}"
    assert made["last_four"] == made["card_number"][-4:] != "1234"
    assert made["number_of_rooms"] == "1234"


def test_numbers_under_telling_keys_stay_numbers() -> None:
    """A phone, postcode or card that is a JSON number becomes another number."""
    value = {"phone": 13812345678, "zip": 78750, "card_number": 4111111111111111, "count": 78750, "ok": True}
    made = clean(value)
    assert all(isinstance(made[key], int) and made[key] != value[key] for key in ("phone", "zip", "card_number"))
    assert made["count"] == 78750
    assert made["ok"] is True
    assert clean(made) == made


def test_every_field_of_a_trace_is_reached() -> None:
    """Ids, names, inputs, outputs, errors with their stacks, attributes and gaps: nothing keeps the value."""
    mail = "mia.li@acme.com"
    error = StepError("E", f"no {mail}", "shop.errors", f'File "x.py"\n  raise E("{mail}")')
    step = Step(0, "tool", f"mail {mail}", {"to": mail}, [mail], error, model=mail, attributes={"who": mail})
    trace = Trace(f"run of {mail}", mail, "evalkit", (step,), mail, {"a": mail}, error, "failed", None, None,
                  {mail: mail}, (f"lost {mail}",))  # fmt: skip
    made = Sanitizer(Policy(), KEY).sanitize([trace])[0]
    assert mail not in repr(made.trace)
    assert made.record.counts == {"email": 1}


def test_a_batch_shares_what_it_knows() -> None:
    """A name that only one trace gives away is replaced in all, whichever comes first."""
    said = Trace("a", "a", "evalkit", (Step(0, "other", "user_message", None, {"content": "I'm Yusuf"}),))
    told = Trace("b", "a", "evalkit", (Step(0, "tool", "get", {}, {"first_name": "Yusuf"}),))
    forward = Sanitizer(Policy(), KEY).sanitize([said, told])
    backward = Sanitizer(Policy(), KEY).sanitize([told, said])
    assert forward == backward[::-1]
    assert "Yusuf" not in repr([made.trace for made in forward])


def test_loose_values_meet_the_batch() -> None:
    """An expectation or an argument sanitized later has the surrogates of the trace, though it names nothing itself."""
    sanitizer = Sanitizer(Policy(), KEY)
    step = Step(0, "tool", "get", {"user_id": "mia_li_3668"}, {"first_name": "Yusuf", "zip": "78750"})
    made = sanitizer.sanitize([Trace("t", "a", "evalkit", (step,))])[0].trace.steps[0]
    assert sanitizer.value({"user_id": "mia_li_3668"}) == made.input
    assert sanitizer.value("Yusuf lives in 78750") == "{first_name} lives in {zip}".format(**made.output)  # type: ignore[arg-type]  # an object, as above


def test_a_recorders_steps_agree_with_the_batch() -> None:
    """Step by step under the same key gives what the whole trace gives, once a value is known."""
    step = Step(0, "tool", "find", {"email": "mia@acme.com", "phone": "(212) 555-7890"}, "found mia@acme.com")
    whole = Sanitizer(Policy(), KEY).sanitize([Trace("t", "a", "evalkit", (step,))])[0].trace.steps[0]
    assert Sanitizer(Policy(), KEY).step(step) == whole


def test_the_input_is_never_changed() -> None:
    """Sanitizing copies; the caller's objects stay as they were."""
    value = {"email": "mia@acme.com", "list": [{"zip": "78750"}]}
    before = json.dumps(value)
    clean(value)
    assert json.dumps(value) == before


def test_shared_objects_are_rewritten_once_and_right() -> None:
    """A message that many steps share is not confused with another one, however short its life."""
    steps = tuple(
        Step(n, "other", "note", attributes={"who": f"user{n}@acme.com", "n": n}, output=None) for n in range(200)
    )
    made = Sanitizer(Policy(), KEY).sanitize([Trace("t", "a", "evalkit", steps)])[0].trace
    assert [step.attributes["n"] for step in made.steps] == list(range(200))
    assert len({step.attributes["who"] for step in made.steps}) == 200


def test_keys_that_would_become_one_are_refused() -> None:
    """No entry of an object is ever lost."""
    policy = Policy(actions={"email": "drop"})
    with pytest.raises(SanitizationFailed, match="two keys"):
        Sanitizer(policy, KEY).value({"mia@acme.com": 1, "ben@acme.com": 2})


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = "end"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(250), ("a", "tuple"), {"a": b"bytes"}, "lone \ud800 surrogate"])
def test_what_is_no_json_is_refused(value: Any) -> None:
    """Too deep, another type, or no valid Unicode: a typed error."""
    with pytest.raises(InputError):
        clean(value)


@pytest.mark.parametrize(
    "value", ["[" * 5000, '{"a": 1e400}', "9" * 6000, 10**400, "%7B" * 2000, '"\\"' * 3000, "\\u005"]
)
def test_hostile_values_pass_through(value: Any) -> None:
    """Bombs of nesting, numbers and escapes come out unchanged, without an error."""
    assert clean(value) == value


def test_a_result_that_comes_back_as_json_meets_in_the_same_surrogates() -> None:
    """A tool's result is replaced in the next request's text as in the step, counted once, and of every trace."""

    def trace(name: str) -> Trace:
        result: Any = {"customer": {"email": "mia@acme.com"}, "items": [{"id": 1, "name": "a lamp"}], "zip": "97205"}
        told: Any = [{"role": "tool", "content": json.dumps(result, indent=2)}]
        return Trace(
            name, "a", "evalkit", (Step(0, "tool", "find", {}, result), Step(1, "model", "m", {"messages": told}, {}))
        )

    first, second = Sanitizer(Policy(), KEY).sanitize([trace("one"), trace("two")])
    for made in (first, second):
        found, asked = made.trace.steps[0].output, json.dumps(made.trace.steps[1].input)
        assert json.loads(json.loads(asked)["messages"][0]["content"]) == found
        assert "mia@acme" not in json.dumps(found) + asked
        assert "97205" not in json.dumps(found) + asked
    assert first.record.counts == second.record.counts == {"email": 1, "postcode": 1}


@pytest.mark.parametrize("key", ["auth_value", "task_code"])
def test_a_key_and_its_value_are_looked_at_together_in_every_row(key: str) -> None:
    """Where the rows of a list say nothing else, and only one of them holds a secret."""
    rows: Any = [{"sku": f"SKU{n}", key: f"part {n}"} for n in range(8)]
    rows[5] = {"sku": "SKU5", "auth_value": "A8f3kLm29QxT7vZ1"}
    rows.append({"sku": "SKU9", "auth_value": "A8f3kLm29QxT7vZ1"})
    step = Step(0, "tool", "list", {}, {"rows": rows})
    made = Sanitizer(Policy(), KEY).sanitize([Trace("t", "a", "evalkit", (step,))])[0].trace.steps[0].output
    assert "A8f3kLm29QxT7vZ1" not in json.dumps(made)
    assert made["rows"][:5] == rows[:5]  # type: ignore[index, call-overload]
