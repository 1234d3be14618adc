"""Patterns for what is known by its form: numbers of people and machines, e-mail addresses.

The forms of phone, card and id numbers are those of E.164, the North American Numbering Plan, ISO/IEC 7812, ISO 13616,
the SSA, GB 11643, and of the authorities that issue the ids; documentation says which values are nobody's.
"""

from __future__ import annotations

from evalkit.sanitize.rules.rule import LEFT, Rule

__all__ = ["NUMBER_RULES"]

_CN_PLATES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"

NUMBER_RULES: tuple[Rule, ...] = (
    Rule(
        "cn_id",
        "national_id",
        "number",
        LEFT + r"([1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx])",
    ),
    Rule(
        "card",
        "card",
        "number",
        LEFT + r"(\d{12,19}|\d{4}(?: \d{4}){2} \d{1,7}|\d{4}(?:-\d{4}){2}-\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5})",
    ),
    Rule("iban", "iban", "number", LEFT + r"((?i:[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?))"),
    Rule("ssn", "ssn", "number", LEFT + r"(\d{3}-\d{2}-\d{4})"),
    Rule(
        "uk_nino",
        "national_id",
        "number",
        LEFT
        + r"([A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d{2} \d{2} \d{2} [A-D]|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D])",
    ),
    Rule("br_cpf", "national_id", "number", LEFT + r"(\d{3}\.\d{3}\.\d{3}-\d{2})"),
    Rule("hk_id", "national_id", "number", LEFT + r"([A-Z]{1,2}\d{6}\([0-9A]\))", whole=False),
    Rule("kr_rrn", "national_id", "number", LEFT + r"(\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-4]\d{6})"),
    Rule("it_cf", "national_id", "number", LEFT + r"([A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z])"),
    Rule("mx_curp", "national_id", "number", LEFT + r"([A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d)"),
    Rule(
        "email",
        "email",
        "around",
        r"(?:^|[^A-Za-z0-9._+-])\.*((?:[A-Za-z]')?[A-Za-zÀ-ӿ0-9_+-][A-Za-zÀ-ӿ0-9._+-]*(?:@|%40)(?:[A-Za-zÀ-ӿ0-9-]+\.)+"
        r"(?:xn--[A-Za-z0-9-]+|[A-Za-zÀ-ӿ]+))",
        around=(("@", "%40"), 70, 280),
    ),
    Rule("cn_mobile", "phone", "number", LEFT + r"((?:\+?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4})"),
    Rule(
        "nanp",
        "phone",
        "number",
        LEFT
        + r"((?:(?:\+?1|001)[ .-]?)?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?: ?(?:x|ext\.? ?)\d{2,6})?)",
    ),
    Rule("nanp_paren", "phone", "number", r"(\([2-9]\d{2}\) ?[2-9]\d{2}[ .-]\d{4})"),
    Rule("e164", "phone", "number", r"(\+[1-9]\d{0,2}(?:[ .-]?\(?\d{1,4}\)?){2,6})"),
    Rule("double_zero", "phone", "number", LEFT + r"(00[1-9]\d{0,2}[ .-]\(?\d{1,4}\)?(?:[ .-]\d{2,4}){1,4})"),
    Rule("local_phone", "phone", "number", LEFT + r"(0[1-9]\d{0,3}[ /-]\d{2,4}(?:[ -]?\d{2,4}){1,3})"),
    Rule("local_pairs", "phone", "number", LEFT + r"(0\d(?:[ .-]\d{2}){4})"),
    Rule("eight_pairs", "phone", "number", LEFT + r"([2-9]\d(?: \d{2}){3}|[2-9]\d(?:-\d{2}){3}|[2-9]\d(?:\.\d{2}){3})"),
    Rule("area_paren", "phone", "number", r"(\(0?\d{1,4}\) ?\d{2,4}(?:[ -]\d{2,4}){1,3})"),
    Rule("postcode_kept", "postcode", "number", LEFT + r"(00[1-4]\d\d-\d{4})"),
    Rule("ipv4", "ip", "number", LEFT + r"((?:\d{1,3}\.){3}\d{1,3})"),
    Rule("ipv6", "ip", "number", r"(?:^|[^0-9A-Za-z:.])([0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7})"),
    Rule("mac", "mac", "number", LEFT + r"([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5})"),
    Rule("mac_dotted", "mac", "number", LEFT + r"([0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})"),
    Rule(
        "cn_plate",
        "plate",
        "number",
        f"([{_CN_PLATES}][A-HJ-NP-Z][·• -]?(?:[DF][A-HJ-NP-Z0-9]\\d{{4}}|\\d{{5}}[DF]|[A-HJ-NP-Z0-9]{{4}}[A-HJ-NP-Z0-9挂学警港澳]))",
    ),
)
