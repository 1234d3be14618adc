"""Names and ids in the prose of tool results: what tells a person, and what only looks like one."""

from __future__ import annotations

import pytest

from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer

KEY = bytes(32)


@pytest.mark.parametrize(
    ("text", "personal"),
    [
        ("Booking for Ottoline Vogt confirmed, seat 14C.", "Ottoline Vogt"),
        ("Passenger Kwabena Oyelaran has been rebooked on HAT136.", "Kwabena Oyelaran"),
        ("The patient, Solveig Lindqvist, was admitted with chest pain.", "Solveig Lindqvist"),
        ("Transfer of $500 from Jorunn Eriksson failed.", "Jorunn Eriksson"),
        ("Account holder is Zeynep Al-Sayed; please wait.", "Zeynep Al-Sayed"),
        ("Caller verified: Radomir Volkov, DOB 1984-07-19", "Radomir Volkov"),
        ("emergency contact Rosalba Delgado +34 612 345 678", "Rosalba Delgado"),
        ("cc: Hjalmar Sørensen <desk@example.org>", "Hjalmar Sørensen"),
        ("Hello, this is Ottoline Brackwater, my line is dead.", "Ottoline Brackwater"),
        ('{"owner": "Ottoline Brackwater", "n": 1}', "Ottoline Brackwater"),
        ('{"机主": "李建国", "n": 1}', "李建国"),
        ("Later Marcus Oyelaran phoned again.", "Marcus Oyelaran"),
        ("乘客王丽娜的订单已取消。", "王丽娜"),
        ("患者赵国强，男，四十五岁。", "赵国强"),
        ("请联系李建国（座机）", "李建国"),
        ("开户人：周杰，已核实", "周杰"),
        ("User lookup returned: id=marcus_vogt_4711 status=active", "marcus_vogt_4711"),
        ("wrote reports/marcus_vogt_4711/summary.pdf", "marcus_vogt_4711"),
        ("IMEI: 490154203237518", "490154203237518"),
        ("Member ID: XGH123456789", "XGH123456789"),
        ("病历号：ZY20240987", "ZY20240987"),
        ("微信号：lina_1987", "lina_1987"),
        ("Authorization: Basic bGVuYTpzZWNyZXRwYXNz", "bGVuYTpzZWNyZXRwYXNz"),
    ],
)
def test_what_the_words_around_it_tell_is_replaced(text: str, personal: str) -> None:
    """A person's name beside a role, a verb or a contact, a usual given name with a family name, ids by their label."""
    clean = Sanitizer(Policy(), KEY).text(text)
    assert personal not in clean
    assert Sanitizer(Policy(), bytes(range(32))).text(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "Passenger Name Record",
        '{"owner": "Platform Support Team", "to": "Los Angeles", "from": "New York", "member": "gold"}',
        "Patient Protection Act",
        "the Customer Success Team",
        "Member Services",
        "account for Gift Cards",
        "booking for Economy Class",
        "transfer from Checking Account to Savings Account",
        "transfer from New York to Los Angeles",
        "appointment with Cardiology Department",
        "San Francisco International Airport",
        "flying to St. Louis Missouri",
        "Charles de Gaulle Airport",
        "James Beard Award winners",
        "Adam Optimizer with lr=1e-3",
        "policy number is required",
        "用户苏州分公司",
        "乘客陆续登机",
        "会员黄金等级",
        "微信支付是默认方式",
        "test_user_1234 ran step_two_10",
        "discord.js 14.1",
    ],
)
def test_what_only_looks_like_a_person_stays(text: str) -> None:
    """Departments, places, products and code."""
    assert Sanitizer(Policy(), KEY).text(text) == text


def test_a_chinese_name_in_a_key_is_replaced_amid_other_characters() -> None:
    """A name that is one word is the whole value, in an identifier too."""
    clean = Sanitizer(Policy(), KEY).value({"姓名": "诸葛梓涵", "orders": {"诸葛梓涵的订单": 1}})
    assert "诸葛" not in str(clean)
