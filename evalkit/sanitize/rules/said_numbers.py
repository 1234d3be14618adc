"""Patterns for ids, cards, plates, phones and accounts by the words around them, in English and Chinese."""

from __future__ import annotations

from evalkit.sanitize.rules.rule import Rule

__all__ = ["SAID_NUMBER_RULES"]

SAID_NUMBER_RULES: tuple[Rule, ...] = (
    Rule(
        "id_said",
        "national_id", "digit",
        r"(?i:\b(?:passport|national id|national identity|identity card|id card|driver'?s?[ ’]?s? licen[cs]e|driving licen[cs]e|"
        r"tax id|taxpayer id(?:entification)?|social insurance|aadhaar|aadhar|nric|pesel|codice fiscale|medicare|"
        r"nhs|dni|nie|cpf|curp|nino|national insurance|steuer-?id|personnummer|bsn|imei|iccid|imsi|mrn|medical record|"
        r"(?:bank )?account (?:no|num|number)|(?:member|membership|subscriber|insurance|policy|frequent flyer) (?:id|no|num|number))\b"
        r"(?:[ _](?:no|num|number|card|id|code)\b\.?){0,2})"
        r"(?:[ \"'*:=#(]|(?i:is|was|no)\b){0,6}([A-Z0-9](?:[A-Z0-9]|[ ./-][A-Z0-9]){4,24})",
    ),
    Rule(
        "id_said_zh",
        "national_id", "digit",
        r"(?:身份证|身分證|证件|驾驶证|驾照|护照|社保|医保|港澳通行证|台胞证|军官证|病历|住院|就诊卡|保单|会员|银行账|账户|工|学)(?:号码?|编号|卡号)?(?:[\"':： ]|是|为){0,4}([A-Z]{0,3}\d{6,18}[Xx]?(?:\([0-9A]\))?)",
    ),
    Rule(
        "ssn_said",
        "ssn", "digit",
        r"(?i:\bssn|\bsocial security(?: (?:no|number|num)\b)?\.?)(?:[ \"'*:=#]|(?i:is|was|number)\b){0,6}(\d{3}[ -]?\d{2}[ -]?\d{4})",
    ),
    Rule(
        "card_said",
        "card", "digit",
        r"(?i:\b(?:credit |debit |bank )?card(?: (?:no|number|num)\b)?\.?)(?:[ \"'*:=#]|(?i:is|was|number)\b){0,6}(\d[\d -]{11,22}\d)",
    ),
    Rule("card_said_zh", "card", "digit", r"(?:卡号|信用卡|银行卡|储蓄卡)(?:号码?)?(?:[\"':： ]|是|为){0,4}(\d[\d -]{10,22}\d)"),
    Rule(
        "plate_said",
        "plate", "digit",
        r"(?i:\b(?:licen[cs]e|number|registration|vehicle|car) ?plates?(?: (?:no|number)\b\.?)?|\bvehicle reg(?:istration)?\b)"
        r"(?:[ \"'*:=#]|(?i:is|was)\b){0,6}([A-Z0-9]{1,4}[ -]?[A-Z0-9]{2,5}(?:[ -][A-Z0-9]{1,4})?)",
    ),
    Rule(
        "phone_said",
        "phone", "digit",
        r"(?i:\b(?:phone|mobile|cell|tel|telephone|fax|desk|whatsapp|call|dial|ring|sms|text|answering|messages)\b"
        r"(?: ?(?:no|number|num)\b)?)(?:[.:# \n]|(?i: me| us| him| her| at| to| on| is| back| under)){1,12}"
        r"(\+?\(?\d[\d ().-]{5,18}\d)",
    ),
    Rule(
        "phone_labelled",
        "phone", "digit",
        r"(?:^|[^0-9A-Za-z.+])(\+?\(?\d[\d ().-]{5,18}\d)(?: ?x\d{1,6})? ?[-–(]?(?i:office|fax|mobile|cell|desk|home|work|tel|phone|direct)\b",
        whole=False,
    ),
    Rule(
        "phone_said_zh",
        "phone", "digit",
        r"(?:电话|手机|座机|传真|拨打)(?:号码?)?(?:[:： ]|是|为){0,3}(\d[\d -]{5,16}\d)",
    ),
    Rule(
        "handle_zh",
        "account", "any",
        r"(?:微信|QQ|ＱＱ|支付宝|微博)(?:号码?|账号)?(?:[:：]|是|为| )\s?([A-Za-z0-9][A-Za-z0-9_-]{4,24})",
    ),
    Rule(
        "handle",
        "account", "any",
        r"(?i:\b(?:twitter|telegram|instagram|github|tiktok|skype|wechat|discord)(?: (?:handle|id|user|account))?(?: is|:)? ?@?)([A-Za-z][A-Za-z0-9]*[._-]?[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*)",
    ),
    Rule(
        "account_named",
        "account", "digit",
        r"(?:^|[^A-Za-z0-9])([A-Za-z]{2,24}[._-][A-Za-z]{2,24}[._-]?\d{2,6})",
    ),
    Rule(
        "account_said",
        "account", "digit",
        r"(?i:\buser[ _-]?(?:id|name)|\blogin(?: name)?)(?: is|:| of| =|=)? {0,2}[`\"'*]{0,2}"
        r"([A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+){1,5})",
    ),
)  # fmt: skip
