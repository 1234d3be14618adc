"""Idempotence, order, one to one: for any persons in any places."""

from __future__ import annotations

import json
from datetime import date
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.normal import luhn_digit
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify
from evalkit.trace.model import Step, Trace

KEY, OTHER_KEY = b"property test key, 32 bytes.....", b"another property test key, 32..."


def digits(count: int) -> st.SearchStrategy[str]:
    """That many decimal digits."""
    return st.text("0123456789", min_size=count, max_size=count)


def card(body: str, grouping: str) -> str:
    """A card number with a right check digit, grouped."""
    number = f"4{body}{luhn_digit('4' + body)}"
    return grouping.join((number[:4], number[4:8], number[8:12], number[12:]))


WORD = st.text("abcdefghijklmnoprstuvwyz", min_size=2, max_size=9)
NAME = WORD.map(str.title)
DAY = st.dates(date(1920, 1, 1), date(2020, 1, 1))
CN_MOBILE = st.builds("1{}{}".format, st.sampled_from("3578"), digits(9))
NANP = st.builds(
    lambda form, area, office, line: form.format(area, office, line),
    st.sampled_from(["({}) {}-{}", "{}-{}-{}", "+1 {} {} {}", "+1{}{}{}", "{}.{}.{}"]),
    st.from_regex(r"[2-8][0-8]\d", fullmatch=True),
    st.from_regex(r"[2-9]\d\d", fullmatch=True),
    digits(4),
)
PHONE = st.one_of(CN_MOBILE, NANP, st.builds("+44 20 {} {}".format, digits(4), digits(4)), digits(9), digits(10))
CN_ID = st.builds(
    lambda region, day, tail: f"{region}{day:%Y%m%d}{tail}",
    st.from_regex(r"[1-6]\d{5}", fullmatch=True),
    DAY,
    digits(4),
)
SSN = st.builds("{}-{}-{}".format, st.from_regex(r"[1-5]\d[1-9]", fullmatch=True), digits(2), digits(4))
MAC = st.builds(
    lambda pairs, sign: sign.join(pairs),
    st.lists(st.from_regex(r"[0-9a-f]{2}", fullmatch=True), min_size=6, max_size=6),
    st.sampled_from(":-"),
)
PLATE = st.builds("{}{}{}".format, st.sampled_from("京沪粤川"), st.sampled_from("ABCD"), digits(5))
PASSPORT = st.builds("{}{}".format, st.sampled_from("EGX"), digits(8))
POSTCODE = st.one_of(digits(5), digits(6), st.builds("{}-{}".format, digits(5), digits(4)))
PERSON = st.fixed_dictionaries(
    {},
    optional={
        "first_name": NAME,
        "last_name": NAME,
        "姓名": st.text("张王李赵伟芳娜秀英敏静丽强磊军洋勇艳杰", min_size=2, max_size=3),
        "email": st.builds("{}.{}@{}.com".format, WORD, WORD, WORD),
        "phone": PHONE,
        "card_number": st.builds(card, digits(14), st.sampled_from(["", " ", "-"])),
        "ssn": st.one_of(SSN, digits(9)),
        "身份证": CN_ID,
        "dob": DAY.map(date.isoformat),
        "address1": st.builds("{} {} {}".format, st.integers(1, 9999), NAME, st.sampled_from(["Street", "Lane"])),
        "address2": st.builds("{} {}".format, st.sampled_from(["Suite", "Apt", "#"]), st.integers(1, 999)),
        "zip": POSTCODE,
        "mac": MAC,
        "车牌号": PLATE,
        "passport": PASSPORT,
        "ip": st.ip_addresses(v=4).map(str),
        "user_id": st.one_of(st.builds("{}_{}_{}".format, WORD, WORD, digits(4)), st.uuids().map(str), digits(8)),
        "payment_id": st.builds("{}_{}".format, st.sampled_from(["credit_card", "pm"]), digits(7)),
        "password": WORD,
        "api_key": st.text("abcdefABCDEF0123456789", min_size=24, max_size=40).map("sk-{}A1".format),
    },
)


FRAMES = {
    "first_name": ("Dear {},\n", "Mr. {} called.\n", "Regards,\n{}\n", "first name: {}\n"),
    "last_name": ("My name is {}.\n", "customer: Anna {}\n", "{}\n\n12 Main Street\n"),
    "姓名": ("{}先生", "我叫{}，", "联系人：{} 手机", "我是{}。"),
    "phone": ("phone {} ext. 12\n", "call {}, thanks\n", "{} office\n", "电话：{}。"),
    "card_number": ("card number {}\n", "信用卡号：{}。"),
    "ssn": ("SSN {}\n", "social security number is {}\n"),
    "passport": ("passport no. {}\n", "护照号码{}。"),
    "身份证": ("身份证号：{}，", "identity card {}\n"),
    "车牌号": ("车牌{}的车主", "licence plate {}\n"),
    "dob": ("born on {}\n", "出生日期：{}。"),
    "address1": ("lives at {}, Apt 5\n", "{}\nAustin, TX 78701\n", "地址：{}。"),
    "zip": ("zip {}\n", "邮编：{}。"),
    "password": ("password is {}9\n", "密码：{}。", "Cookie: sid={}1234567; path=/\n"),
    "api_key": ('stripe_api_key = "{}"\n', "密钥{}已泄露\n", "Authorization: Bearer {}\n"),
}
"""What stands around values where they are said to be something."""


def spread(person: dict[str, Any]) -> dict[str, Any]:
    """A person's values in all the places that values stand in."""
    values = list(person.values())
    return {
        "person": person,
        "text": "Hello " + " and ".join(values) + ", bye",
        "list": values,
        "zh": "客户" + "，电话".join(values) + "完",
        "json": json.dumps(person),
        "url": "https://x.io/?" + "&".join(f"{key}={quote(value)}" for key, value in person.items()),
        "log": "\n".join(f"{key}: {value}" for key, value in person.items()),
        "letter": "".join(frame.format(value) for key, value in person.items() for frame in FRAMES.get(key, ())),
    }


@settings(max_examples=60, deadline=None)
@given(PERSON.map(spread))
def test_a_second_pass_changes_nothing(value: dict[str, Any]) -> None:
    """Not by the same sanitizer, nor by one with another key; and no original is left in what is written."""
    sanitizer = Sanitizer(Policy(), KEY)
    once = sanitizer.value(value)
    assert sanitizer.value(once) == once
    assert Sanitizer(Policy(), OTHER_KEY).value(once) == once
    verify(json.dumps(once).encode(), sanitizer.harvested)


@settings(max_examples=60, deadline=None)
@given(PERSON.map(spread))
def test_nothing_is_left_to_be_found(value: dict[str, Any]) -> None:
    """Whatever the detectors know is replaced: they find nothing in the result."""
    harvester = Harvester(Policy(), Detector(Policy()))
    harvester.node(Sanitizer(Policy(), KEY).value(value))
    assert harvester.take() == []


@pytest.mark.parametrize("name", ["Apt", "Suite", "Unit", "Floor", "Room", "Box"])
def test_who_is_called_like_a_flat_changes_no_surrogate(name: str) -> None:
    """A flat's surrogate keeps the word, which is not the name then: a second pass would make an address of neither."""
    value: Any = {"last_name": name, "address2": f"{name} 1", "text": f"{name} 1, asked for by {name}"}
    sanitizer = Sanitizer(Policy(), KEY)
    once: Any = sanitizer.value(value)
    assert sanitizer.value(once) == once
    harvester = Harvester(Policy(), Detector(Policy()))
    harvester.node(once)
    assert harvester.take() == []
    assert name not in once["last_name"]


@settings(max_examples=40, deadline=None)
@given(st.lists(PERSON.map(spread), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_traces_makes_no_difference(values: list[dict[str, Any]], random: Any) -> None:
    """A shuffled batch gives the same traces."""
    traces = [Trace(f"t{n}", "a", "evalkit", (Step(0, "tool", "get", {}, v),)) for n, v in enumerate(values)]
    shuffled = random.sample(traces, len(traces))
    here = {made.trace.id: made for made in Sanitizer(Policy(), KEY).sanitize(traces)}
    there = {made.trace.id: made for made in Sanitizer(Policy(), KEY).sanitize(shuffled)}
    assert here == there


@settings(max_examples=40, deadline=None)
@given(PERSON, PERSON)
def test_one_value_one_surrogate(left: dict[str, Any], right: dict[str, Any]) -> None:
    """Equal values have equal surrogates in two sanitizers of a project; different ones never share one."""
    sanitizer = Sanitizer(Policy(), KEY)
    first, second = sanitizer.value(left), sanitizer.value(right)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert Sanitizer(Policy(), KEY).value(left) == first
    for key in left.keys() & right.keys():
        assert (left[key] == right[key]) == (first[key] == second[key])
