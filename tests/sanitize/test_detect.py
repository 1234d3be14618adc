"""What is taken for a personal or secret value, and what is not."""

from __future__ import annotations

import pytest

from evalkit.canonical import Json
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.sanitizer import Sanitizer

DETECTOR = Detector(Policy())


def found(text: str) -> list[tuple[str, str]]:
    """Kind and text of everything found in `text`, sorted."""
    return sorted((claim.kind, claim.text) for claim in DETECTOR.in_text(text))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("secret", "sk-proj-a8Bc9De0Fg1Hi2Jk3Lm4No5Pq6"),
        ("secret", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ("secret", "github_pat_11ABCDEFG0123456789_abcdefghij0123456789"),
        ("secret", "AKIA2E0A8F3B244C9986"[:4] + "QYLPMN5HHHFPZAM2"),
        ("secret", "AIzaSyA-1234567890abcdefghijklmnopqrstu"),
        ("secret", "xoxb-1234567890-abcdefABCDEF"),
        ("secret", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jVmNHl0w5N"),
        ("email", "mia.li+orders@mail.acme.co.uk"),
        ("phone", "13945671234"),
        ("phone", "+86 139-4567-1234"),
        ("phone", "(212) 555-7890"),
        ("phone", "+1-212-555-7890"),
        ("phone", "+44 20 7946 0958"),
        ("phone", "020 7946 0958"),
        ("phone", "06.12.34.56.78"),
        ("phone", "010-12345678"),
        ("card", "4111 1111 1111 1111"),
        ("card", "5500005555555559"),
        ("card", "3782 822463 10005"),
        ("iban", "GB82 WEST 1234 5698 7654 32"),
        ("iban", "DE89370400440532013000"),
        ("ssn", "123-45-6789"),
        ("national_id", "11010519491231002X"),
        ("ip", "93.184.216.34"),
        ("ip", "2606:2800:220:1:248:1893:25c8:1946"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "see {} please", "客户{}已登记", "({}), ", "x={};"])
def test_values_are_found_in_english_and_chinese_text(kind: str, value: str, frame: str) -> None:
    """A value is found whole, at the edges of a text, in brackets, and between Chinese characters."""
    assert (kind, value) in found(frame.format(value))


@pytest.mark.parametrize(
    "bait",
    [
        "sk-output-waiting-style-sheet-loader-two",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "n@pytest.mark.parametrize",
        "git@github.com:acme/agent.git",
        "2024-05-15T15:00:00.123456+08:00",
        "05-15-2024 15:00",
        "call on 2024-05-15 10:00",
        "06:00:00 12:34:56",
        "1715760000000",
        "3.14159265358979",
        "v1.2.3.4 and Chrome/120.0.0.0",
        "127.0.0.1 192.168.1.10 0.0.0.0",
        "std::vector<int>::iterator a::b",
        "152 + 1034 = 1186",
        "order #1234567890, item 8310926033",
        "password: required",
        "max_tokens=4096 total_tokens=128",
        "Authorization: Bearer authentication-is-needed",
        "the token is invalid; api_key = os.environ",
        "4111111111111112 is no valid card",
    ],
)
def test_bait_is_left_alone(bait: str) -> None:
    """Hashes, ids, times, versions, decorators and words about secrets are none."""
    assert found(bait) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer a1B2c3D4e5F6g7H8i9J0", "a1B2c3D4e5F6g7H8i9J0"),
        ("postgres://app:s3cr3t-Pa55@db.acme.io:5432/prod", ":s3cr3t-Pa55@"),
        ("Server=db;Password=Tr0ub4dor&x", "Tr0ub4dor"),
        ("export API_KEY='9f8e7d6c5b4a'", "9f8e7d6c5b4a"),
        ("数据库密码：Xy12#z99", "Xy12#z99"),
    ],
)
def test_secrets_are_known_by_what_stands_before_them(text: str, secret: str) -> None:
    """Header schemes, URLs, assignments: the secret alone is taken, its frame stays."""
    assert ("secret", secret) in found(text)


def test_a_private_key_is_taken_whole() -> None:
    """From BEGIN to END, also when the line breaks are escapes."""
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    for line_break in ("\n", "\\n"):
        text = f"-----BEGIN PRIVATE KEY-----{line_break}{body}{line_break}-----END PRIVATE KEY-----"
        assert found(f"key: {text} end") == [("secret", text)]


def test_the_nested_value_is_not_lost_behind_a_rejected_match() -> None:
    """A card that follows four other digits is found, though a wrong reading starts before it."""
    assert ("card", "4111 1111 1111 1111") in found("ref 7917 4111 1111 1111 1111")


def test_what_stands_in_a_longer_value_is_not_taken_twice() -> None:
    """The digits of an IBAN are no phone number and no card."""
    assert found("GB82 WEST 1234 5698 7654 32") == [("iban", "GB82 WEST 1234 5698 7654 32")]


@pytest.mark.parametrize(
    ("kind", "value", "taken"),
    [
        ("name", "Mia Li", True),
        ("name", "O'Brien", True),
        ("name", "张伟", True),
        ("name", "get_user_details", False),
        ("name", "unknown", False),
        ("address", "975 Sunset Drive", True),
        ("address", "北京市朝阳区建国路88号", True),
        ("address", "0x7ffe", False),
        ("birth_date", "1990-04-05", True),
        ("birth_date", "5 April 1990", True),
        ("birth_date", "soon", False),
        ("postcode", "78750", True),
        ("postcode", "SW1A 1AA", True),
        ("secret", "hunter2", True),
        ("secret", "********", False),
        ("secret", "${API_KEY}", False),
        ("secret", "required", False),
        ("card", "4111111111111112", True),
        ("phone", "5551234", True),
        ("phone", "by mail", False),
        ("account", "mia_li_3668", True),
        ("payment", "credit_card_4421486", True),
    ],
)
def test_a_key_says_what_its_value_is_only_if_it_can_be(kind: Kind, value: str, taken: bool) -> None:
    """Under a telling key a value needs no checksum, but it must be of the kind at all."""
    assert (DETECTOR.under_hint(kind, value) is not None) is taken


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("firstName", "name"),
        ("FIRST-NAME", "name"),
        ("收货人", "name"),
        ("OPENAI_API_KEY", "secret"),
        ("x-api-key", "secret"),
        ("next_page_token", None),
        ("max_tokens", None),
        ("zip", "postcode"),
        ("手机", "phone"),
        ("地址", "address"),
        ("status", None),
    ],
)
def test_keys_are_read_without_case_and_separators(key: str, kind: str | None) -> None:
    """English and Chinese keys are known; counters and cursors are no secrets."""
    assert DETECTOR.key_hints.hint(key, {key: "x"}, "") == kind


def test_a_name_is_a_persons_only_beside_personal_things() -> None:
    """`name` means a person under `user` or beside an e-mail, not on a product, a tool or a message."""
    assert DETECTOR.key_hints.hint("name", {"name": "Mia", "email": "m@x.io"}, "") == "name"
    assert DETECTOR.key_hints.hint("name", {"name": "Mia"}, "person") == "name"
    assert DETECTOR.key_hints.hint("name", {"name": "Water Bottle", "price": 3}, "") is None
    assert DETECTOR.key_hints.hint("name", {"name": "find", "role": "tool", "email": "m@x.io"}, "") is None


@pytest.mark.parametrize("key", ["user_id", "customerId", "patient-id", "用户编号", "客户ID"])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("张伟", "name"),
        ("欧阳娜娜", "name"),
        ("白菜", None),
        ("黄金会员", None),
        ("Road Trip", None),
        ("get_user", None),
    ],
)
def test_beside_a_persons_id_a_name_is_theirs_where_it_looks_like_a_chinese_one(
    key: str, value: str, kind: str | None
) -> None:
    """Goods and lists of a person have names, too."""
    node: dict[str, Json] = {key: 7, "name": value}
    assert DETECTOR.key_hints.hint("name", node, "") == kind
    clean = Sanitizer(Policy(), bytes(32)).value(node)
    assert (clean == node) is (kind is None)


def test_a_models_token_is_no_secret() -> None:
    """`token` beside `logprob`, or with a mere word in it, is a piece of the model's output."""
    assert DETECTOR.key_hints.hint("token", {"token": " Colorful"}, "") is None
    assert DETECTOR.key_hints.hint("token", {"token": "a81bc81b-dead-4e5d"}, "") == "secret"
    assert DETECTOR.key_hints.hint("token", {"token": " hello-world", "logprob": -0.1}, "") is None
