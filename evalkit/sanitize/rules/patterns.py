"""The patterns that find values by their form, as RE2 text. Every rule has one group: the value.

Boundaries are ASCII (no letter or digit beside the value), because ``\\b`` in Python takes a Chinese character for a
word character and so misses a number that stands in Chinese text. The left one is part of the pattern (RE2 has no
look-behind); the right one is checked after the match.

The forms of API keys are those their issuers document; the forms of phone, card and id numbers are those of E.164,
the North American Numbering Plan, ISO/IEC 7812, ISO 13616, the SSA, and GB 11643.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.sanitize.policy import Kind

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern.

    Attributes:
        name: for the checks in `detect` and for messages.
        pattern: RE2, one group.
        whole: whether no ASCII letter or digit may follow the value.
    """

    name: str
    kind: Kind
    pattern: str
    whole: bool = True


_LEFT = r"(?:^|[^0-9A-Za-z\p{Nd}])"
_KEY_WORD = (
    r"(?i:pass(?:word|wd|phrase)|pwd|api[_-]?key|(?:client[_-]?|app[_-]?)?secret(?:[_-]?(?:access[_-]?)?key)?|"
    r"(?:access|auth|refresh|session|bearer)[_-]?token|token|account[_-]?key|shared[_-]?access[_-]?key|private[_-]?key)"
)

RULES: tuple[Rule, ...] = (
    Rule(
        "api_key",
        "secret",
        _LEFT + r"(sk-[A-Za-z0-9_-]{20,300}|sk_(?:live|test)_[A-Za-z0-9]{16,200}|rk_live_[A-Za-z0-9]{16,200}"
        r"|gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{30,255}|glpat-[A-Za-z0-9_-]{20,100}"
        r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,500}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,250}|xapp-[A-Za-z0-9-]{20,250}|hf_[A-Za-z0-9]{30,100}|npm_[A-Za-z0-9]{36}"
        r"|pypi-[A-Za-z0-9_-]{50,300}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}|dop_v1_[a-f0-9]{64})",
    ),
    Rule("jwt", "secret", _LEFT + r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?)"),
    Rule(
        "private_key",
        "secret",
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-]){20,}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)",
        whole=False,
    ),
    Rule("auth_header", "secret", r"(?i:bearer|basic|authorization:\s*token)\s+([A-Za-z0-9._~+/-]{16,}={0,2})"),
    Rule(
        "url_password", "secret", r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@\"']{0,200}:([^\s/@\"']{1,200})@", whole=False
    ),
    Rule(
        "assignment",
        "secret",
        _KEY_WORD + r"[\"']?\s{0,3}(?:=|:|=>|:=)\s{0,3}[\"']?([^\s\"'`,;&<>()\[\]{}$\\]{8,300})",
        whole=False,
    ),
    Rule("assignment_zh", "secret", r"(?:密码|口令|密钥)\s?(?:[:：=]|是|为)\s?([!-~]{6,100})", whole=False),
    Rule(
        "cn_id",
        "national_id",
        _LEFT + r"([1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx])",
    ),
    Rule(
        "card",
        "card",
        _LEFT + r"(\d{13,19}|\d{4}(?: \d{4}){2} \d{1,7}|\d{4}(?:-\d{4}){2}-\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5})",
    ),
    Rule("iban", "iban", _LEFT + r"((?i:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?))"),
    Rule("ssn", "ssn", _LEFT + r"(\d{3}-\d{2}-\d{4})"),
    Rule(
        "email",
        "email",
        r"(?:^|[^A-Za-z0-9._+-])([A-Za-z0-9._+-]{1,64}(?:@|%40)(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})",
    ),
    Rule("cn_mobile", "phone", _LEFT + r"((?:\+?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4})"),
    Rule("nanp", "phone", _LEFT + r"((?:(?:\+?1|001)[ .-]?)?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4})"),
    Rule("nanp_paren", "phone", r"(\([2-9]\d{2}\) ?[2-9]\d{2}[ .-]\d{4})"),
    Rule("e164", "phone", r"(\+[1-9]\d{0,2}(?:[ .-]?\(?\d{1,4}\)?){2,6})"),
    Rule("local_phone", "phone", _LEFT + r"(0\d{1,4}[ /-]\d{2,4}(?:[ -]?\d{2,4}){1,3})"),
    Rule("local_pairs", "phone", _LEFT + r"(0\d(?:[ .-]\d{2}){4})"),
    Rule(
        "phone_said",
        "phone",
        r"(?i:\b(?:phone|mobile|cell|tel|telephone|fax|desk|whatsapp|call|dial|ring|sms|text|answering|messages)\b"
        r"(?: ?(?:no|number|num)\b)?)(?:[.:# \n]|(?i: me| us| him| her| at| to| on| is| back| under)){1,12}"
        r"(\+?\(?\d[\d ().-]{5,18}\d)",
    ),
    Rule("phone_said_zh", "phone", r"(?:电话|手机|座机|传真|拨打)(?:号码?)?(?:[:： ]|是|为){0,3}(\d[\d -]{5,16}\d)"),
    Rule("postcode_kept", "postcode", _LEFT + r"(00[1-4]\d\d-\d{4})"),
    Rule("ipv4", "ip", _LEFT + r"((?:\d{1,3}\.){3}\d{1,3})"),
    Rule("ipv6", "ip", r"(?:^|[^0-9A-Za-z:.])([0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7})"),
    Rule(
        "account_said",
        "account",
        r"(?i:\buser[ _-]?(?:id|name)|\blogin(?: name)?)(?: is|:| of| =|=)? {0,2}[`\"'*]{0,2}"
        r"([A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+){1,5})",
    ),
    Rule(
        "name_said",
        "name",
        r"\b[Mm]y (?:full )?name(?: is|'s|:) (\p{Lu}[\p{L}'’-]+(?: \p{Lu}\.?)?(?: \p{Lu}[\p{L}'’-]+){0,2})",
    ),
    Rule(
        "name_said_zh",
        "name",
        r"(?:我叫|我的名字是|姓名[:：]\s?|收货人[:：]\s?|联系人[:：]\s?)(\p{Han}{2,4})(?:[,，.。;；!！、\s]|$)",
    ),
)
