"""Kind by kind: the specifications' own examples are found, what looks like them and is none is left."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.rules.words import PLACEHOLDERS
from evalkit.sanitize.secrets import entropy, gitleaks_rules

DETECTOR = Detector(Policy())


def found(text: str) -> list[tuple[str, str]]:
    """Kind and text of everything found, in order."""
    return [(span.claim.kind, span.claim.text) for span in DETECTOR.spans(text)]


@pytest.mark.parametrize(
    "iban",
    [  # the SWIFT IBAN registry's examples
        "AD1200012030200359100100", "AT611904300234573201", "BE68539007547034", "CH9300762011623852957",
        "DE89370400440532013000", "ES9121000418450200051332", "FR1420041010050500013M02606", "GB29NWBK60161331926819",
        "IT60X0542811101000000123456", "NL91ABNA0417164300", "NO9386011117947", "SA0380000000608010167519",
        "LC55HEMM000100010012001200023015", "GB29 NWBK 6016 1331 9268 19",
    ],
)  # fmt: skip
def test_the_ibans_of_the_registry(iban: str) -> None:
    """Every country's example, electronic and on paper, in both languages."""
    assert found(f"pay to {iban}, please") == [("iban", iban)]
    assert found(f"账号{iban}请转账") == [("iban", iban)]


def test_a_mistyped_iban_is_still_one() -> None:
    """The check digits decide only where neither the word nor the grouping tells."""
    assert found("IBAN: DE89370400440532013001") == [("iban", "DE89370400440532013001")]
    assert found("GB29 NWBK 6016 1331 9268 18") == [("iban", "GB29 NWBK 6016 1331 9268 18")]
    assert found("build DE89370400440532013001") == []


@pytest.mark.parametrize(
    "card",
    ["4111111111111111", "4012888888881881", "5555555555554444", "2223003122003222", "378282246310005",
     "6011111111111117", "3530111333300000", "30569309025904", "6304000000000000", "4000 0566 5566 5556"],
)  # fmt: skip
def test_the_networks_test_cards(card: str) -> None:
    """Visa, Mastercard, Amex, Discover, JCB, Diners, Maestro."""
    assert found(f"card {card} declined") == [("card", card)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("身份证11010519491231002X有效", "national_id", "11010519491231002X"),  # the example of GB 11643
        ("护照号码E12345678，", "national_id", "E12345678"),
        ("passport no. C01X00T47 of", "national_id", "C01X00T47"),
        ("NINO AB 12 34 56 C ok", "national_id", "AB 12 34 56 C"),
        ("CPF 529.982.247-25", "national_id", "529.982.247-25"),
        ("HKID A123456(3)", "national_id", "A123456(3)"),
        ("RRN 900101-1234567", "national_id", "900101-1234567"),
        ("codice RSSMRA85T10A562S", "national_id", "RSSMRA85T10A562S"),
        ("driver's license number is F162-8235-4011", "national_id", "F162-8235-4011"),
        ("my SSN is 219 09 9999", "ssn", "219 09 9999"),
        ("ITIN 912-70-1234", "ssn", "912-70-1234"),
        ("车牌京A12345违章", "plate", "京A12345"),
        ("粤B·D12345", "plate", "粤B·D12345"),
        ("license plate: 7ABC 123", "plate", "7ABC 123"),
        ("eth0 3c:22:fb:9a:01:7e up", "mac", "3c:22:fb:9a:01:7e"),
        ("host 3C-22-FB-9A-01-7E", "mac", "3C-22-FB-9A-01-7E"),
        ("born on 5 April 1990 in", "birth_date", "5 April 1990"),
        ("Date of birth: 04/05/1990", "birth_date", "04/05/1990"),
        ("1990年4月5日出生", "birth_date", "1990年4月5日"),
        ("生日是1990-04-05", "birth_date", "1990-04-05"),
        ("lives at 742 Evergreen Terrace, ", "address", "742 Evergreen Terrace"),
        ("12 Rue de la Paix", "address", "12 Rue de la Paix"),
        ("Berliner Straße 12 und", "address", "Berliner Straße 12"),
        ("P.O. Box 1234", "address", "P.O. Box 1234"),
        ("寄到北京市朝阳区建国路88号3号楼502室，谢谢", "address", "北京市朝阳区建国路88号3号楼502室"),
        ("地址：浦东新区世纪大道100号", "address", "浦东新区世纪大道100号"),
        ("Austin, TX 78701", "postcode", "78701"),
        ("邮编：100020", "postcode", "100020"),
        ("手机１３９４５６７１２３４联系", "phone", "１３９４５６７１２３４"),
        ("手机13945671234联系", "phone", "13945671234"),
        ("邮箱mia.li@acme.com。", "email", "mia.li@acme.com"),
        ("o'brien@acme.co", "email", "o'brien@acme.co"),
        ("call (212) 555-7890 ext. 12 now", "phone", "(212) 555-7890 ext. 12"),
        ("60-56-85-91 office", "phone", "60-56-85-91"),
        ("我的微信 lixm_1990，", "account", "lixm_1990"),
    ],
)  # fmt: skip
def test_a_value_is_found_by_form_or_context(text: str, kind: str, value: str) -> None:
    """English and Chinese, by the issuers' forms and by the words around."""
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Faina Yefremova, and", "Faina Yefremova"),
        ("Dear Ms. Faina Yefremova,\nthank you", "Faina Yefremova"),
        ("Hello Faina,", "Faina"),
        ("Mr. O’Brien called", "O’Brien"),
        ("Regards,\nFaina Yefremova\nSupport", "Faina Yefremova"),
        ("First name: Faina", "Faina"),
        ("passenger: Jean-Luc van der Berg", "Jean-Luc van der Berg"),
        ("请联系张伟先生", "张伟"),
        ("我叫欧阳娜娜，", "欧阳娜娜"),
        ("收货人：李小龙 电话", "李小龙"),
        ("我是王建国。", "王建国"),
        ("其实张安惠女士在场", "张安惠"),
        ("周永康总经理到了", "周永康"),
    ],
)
def test_a_name_is_known_by_what_stands_around_it(text: str, name: str) -> None:
    """Titles, greetings, signatures, labels, introductions."""
    assert ("name", name) in found(text)


@pytest.mark.parametrize(
    "text",
    ["Dear Customer,", "Hello World!", "Hi there,", "Hi Team,", "Dear Sir or Madam,", "Thanks,\nThe Support Team",
     "the name is required", "This is Important News", "您好，请问有什么可以帮您？", "name: Water Bottle", "尊敬的先生",
     "I am Sorry For the delay", "您好，费用。", "司机师傅很好", "客户关系经理", "谢谢李先生", "一个姓李的女士",
     "感谢王先生", "公司总经理", "高级经理", "许多同学", "司机是找不到的。", "我和丁先生", "张老先生"],
)  # fmt: skip
def test_a_greeting_without_a_name_has_none(text: str) -> None:
    """Roles, exclamations and products are nobody's name."""
    assert [claim for claim in found(text) if claim[0] == "name"] == []


@pytest.mark.parametrize(
    "bait",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        "session 550e8400-e29b-41d4-a716-446655440000 closed",
        "def f():\n@pytest.mark.parametrize",
        "\\n@pytest.mark.skip and x@property.setter",
        "sk-output-waiting-style-sheet-loader-two",
        "3.14159265358979 2.718281828459045 -0.57721566490153286",
        "2024-05-15T15:00:00.123456+08:00 1715760000 1715760000000",
        "12:34:56.789 2024/05/15 15.05.2024 20240515",
        "v1.2.3.4 Chrome/120.0.6099.109 numpy-1.26.4 build 10.0.19045.3803",
        "range 10-20-30-40-50, ratio 12 34 56 78 90",
        "tokens: 4096, max_tokens=2048, key=value, primary_key=id",
        "cache_key = a8f5f167f44f4964e6c998dee827110c",
        "SHA1 Fingerprint=12:34:56:78:9a:bc:de:f0:12:34:56:78:9a:bc:de:f0:12:34:56:78",
        "f(37) 788-063 == matrix[12](34) 56-78",
        "GET /api/v2/items/839204 200 1532 0.043",
        "tel-aviv 4.5 km, 2 Tests Passed, 5 Star Rating",
        "ISBN 978-3-16-148410-0",
        "order 500530764322 shipped",
        "doi 10.1016/S0019-1035(22)00489-4 10.1016/j.icarus",
        "e2e967f7-c7ff-43ec-be70-1ff15ea34723",
        '"task_key":"b465f86cdaeb68be07239ef62e75944d"',
        "192.168.0.1 10.0.0.7 127.0.0.1 255.255.255.0",
        "价格1234567元，编号20240515001",
        "ACCESS_KEY: AbCeFG123",
        "export OP_TOKEN=ops_eyJzaWduSW5BZGRyZXNzIjoiaHR0cHM6...",
        '"token1": "xoxp-1234567890"',
        '"token3": "xoxp-1234-1234-1234-4ddbc191d40ee098cbaae6f3523ada2d"',
        "DATABRICKS_TOKEN=dapi123456789012345678a9bc01234defg5",
        "sk-ant-api03-9z8y7x-bcdefghijklmno-31-qrstuvwxyz-77",
    ],
)
def test_bait_is_not_touched(bait: str) -> None:
    """Hashes, ids, decorators, words, floats, times, versions, tables."""
    assert found(bait) == []


def test_a_picture_in_base64_is_not_touched() -> None:
    """Random bytes hold no value: forms need boundaries."""
    picture = base64.b64encode(random.Random(3).randbytes(30_000)).decode()
    assert found(f"data:image/png;base64,{picture}") == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Cookie: theme=dark; session=8f3b2c1d9e; lang=en", "8f3b2c1d9e"),
        ("Set-Cookie: sid=s%3Aabc123def456; Path=/; HttpOnly", "s%3Aabc123def456"),
        ("https://x.blob.core.windows.net/c?sv=2022&sig=a1B2c3D4e5F6g7H8%3D", "a1B2c3D4e5F6g7H8%3D"),
        ("the password is hunter2!", "hunter2"),
        ("验证码：483920，", "483920"),
        ("密钥ghp_16C7e42F292c6912E7710c838347Ae178B4a已泄露", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ("mongodb+srv://root:Pa55w0rd@cluster0.mongodb.net/db", ":Pa55w0rd@"),
        ("AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50u==;", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50u=="),
        ("aws AKIAQYLPMN5HHHFPZAM2 leaked", "AKIAQYLPMN5HHHFPZAM2"),
    ],
)  # fmt: skip
def test_secrets_in_their_places(text: str, secret: str) -> None:
    """Cookies, signed URLs, sentences, Chinese text, connection strings, cloud keys."""
    assert ("secret", secret) in found(text)


@pytest.mark.parametrize(
    "secret",
    [
        "dapi123456789012345678a9bc01234defa5",  # what Databricks' own rule knows is its token, whatever it counts
        "xoxp-254112160503-252950188691-252375361712-6cbf56aada30951a9d310a5f23d032a0",
        "xoxb-123456789012-Xw937qtWSXJss1lFaKe",
        "xoxp-1234-1234-1235-4ddbc191d40ee098cbaae6f3523ada2d",
        "company-1234567890123456789-jwt-key",  # a person may have chosen it
        "12345678901234567890123456789012ab",
    ],
)
def test_what_counts_on_may_be_a_secret(secret: str) -> None:
    """Only a token that its issuer can't have drawn is taken for made up."""
    assert ("secret", secret) in found(f"access_token={secret}")


def test_a_key_and_its_value_are_read_together() -> None:
    """What gitleaks looks for as an assignment in code is found as a field of an object, too."""
    node = {"stripe_key": "k9Lq2ZxP7vRt4WmN8yBc", "cache_key": "k9Lq2ZxP7vRt4WmN8yBc", "title": "k9Lq2ZxP7vRt4WmN8yBc"}
    assert [DETECTOR.key_hints.hint(key, node, "") for key in node] == ["secret", None, None]


def test_a_uuid_is_a_secret_only_if_a_key_says_so() -> None:
    """Ids are everywhere; an API key in the form of one is not."""
    uuid = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    assert DETECTOR.key_hints.hint("api_key", {"api_key": uuid}, "") == "secret"
    assert DETECTOR.key_hints.hint("request_id", {"request_id": uuid}, "") is None


def test_gitleaks_rules_come_with_the_package() -> None:
    """All of upstream's rules that have a pattern, each with keywords."""
    rules = gitleaks_rules()
    assert len(rules) == 221
    assert all(rules.keywords)


def test_a_span_says_where_by_which_rule_and_how_surely() -> None:
    """Characters, not bytes, also behind Chinese text and full-width digits."""
    text = "客户１３９４５６７１２３４，Hello Faina, a@b.com"
    spans = DETECTOR.spans(text)
    assert [text[span.start : span.end] for span in spans] == ["１３９４５６７１２３４", "Faina", "a@b.com"]
    assert [(span.rule, span.sure) for span in spans] == [("cn_mobile", True), ("name_greeted", False), ("email", True)]


@given(st.text(max_size=300))
def test_spans_are_parts_of_the_text(text: str) -> None:
    """Whatever the text: every span is in it, holds its claim, and `in_text` claims the same."""
    spans = DETECTOR.spans(text)
    assert all(text[span.start : span.end] == span.claim.text or span.claim.text.startswith(":") for span in spans)
    assert sorted(DETECTOR.in_text(text)) == sorted(span.claim for span in spans)


@given(st.text("ab1", min_size=1, max_size=40))
def test_entropy_is_that_of_shannon(text: str) -> None:
    """Between nothing and the logarithm of the alphabet; nothing for one letter over and over."""
    assert 0 <= entropy(text) <= 1.5850
    assert (entropy(text) < 1e-9) == (len(set(text)) == 1)


@pytest.mark.parametrize("word", sorted(PLACEHOLDERS))
@pytest.mark.parametrize("frame", ["密码：{}。", "口令是{}，", "password: {}", "password is {}", "pwd={}"])
def test_what_stands_for_no_value_is_no_secret(frame: str, word: str) -> None:
    """In Chinese as in English: `undefined` is nobody's password, and replacing it would hide nothing."""
    assert [text for kind, text in found(frame.format(word)) if kind == "secret"] == []
