"""Patterns for dates of birth and addresses, by the words in and around them, in English and Chinese."""

from __future__ import annotations

from evalkit.sanitize.rules.rule import LEFT, Rule

__all__ = ["PLACE_RULES"]

_STREETS = (
    r"Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Drive|Dr|Lane|Ln|Court|Ct|Circle|Cir|Place|Pl|Square|Sq|Terrace|Ter|"
    r"Way|Parkway|Pkwy|Highway|Hwy|Trail|Trl|Loop|Crescent|Cres|Close|Gardens|Grove|Mews|Row|Walk|Quay|Alley|Turnpike"
)
_UNIT = r"(?:Apt|Apartment|Suite|Ste|Unit|Flat|Room|Rm)\.? ?#? ?\d[A-Za-z0-9-]{0,7}|#\d[A-Za-z0-9-]{0,7}"
_STATES = (
    r"A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
_DATE = r"([0-9A-Za-z][0-9A-Za-z ,./-]{5,20}\d|\d{4}年\d{1,2}月\d{1,2}日)"
_PROVINCES = (
    "北京|天津|上海|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|"
    "陕西|甘肃|青海|台湾|内蒙古|广西|西藏|宁夏|新疆|香港|澳门"
)
_ROAD_ZH = r"(?:大道|大街|路|街|道|巷|弄|胡同|村|里)"
_HOUSE_ZH = r"(?:(?:\d{1,5}|[一二三四五六七八九十百]{1,4})(?:号院|号楼|号|弄|栋|幢|座|单元|室|楼|层|户)|[A-Za-z]座|\d{1,2}-\d{1,4}(?:-\d{1,4})?)"

PLACE_RULES: tuple[Rule, ...] = (
    # dates of birth
    Rule(
        "born",
        "birth_date", "digit",
        r"(?i:\bborn(?: on)?|\bdate[ _]of[ _]birth|\bd\.?o\.?b\b\.?|\bbirth[ _]?da(?:te|y))(?:[ \"'*:=(\n-]|(?i:is|was|on|the)\b){0,12}"
        + _DATE,
    ),
    Rule(
        "born_zh",
        "birth_date", "digit",
        r"(?:出生(?:日期|年月日?|于|时间)?|生日|生于)(?:[\"':： ]|是|为|在){0,4}" + _DATE,
    ),
    Rule("born_after_zh", "birth_date", "digit", r"(\d{4}年\d{1,2}月\d{1,2}日)(?:出生|生人|生(?:[,，。]|$))", whole=False),
    # addresses
    Rule(
        "street",
        "address", "digit",
        LEFT
        + r"(\d+(?:-\d+)?[A-Za-z]?,? (?:(?:[A-ZÀ-ӿ][A-Za-zÀ-ӿ'’.-]*|\d+(?:st|nd|rd|th)) )+"
        + rf"(?:{_STREETS}))\b",
    ),
    Rule(
        "unit",
        "address", "digit",
        rf"\b(?:{_STREETS})\b\.?(?: [NSEW]{{1,2}})?[,\n ]{{1,3}}({_UNIT})",
    ),
    Rule("po_box", "address", "digit", r"(?i:\b)((?i:P\.? ?O\.? ?Box) #?\d{1,8})"),
    Rule(
        "street_de",
        "address", "digit",
        r"(?:^|[^A-Za-zÀ-ӿ])([A-ZÀ-ӿ][A-Za-zÀ-ӿ-]+(?:straße|strasse|str\.|weg|platz|gasse|allee|katu|tie|gatan|vägen|vej|gade|veien|straat|laan| Straße| Strasse| Str\.| Platz| Weg| Allee)"
        r" \d{1,4}[a-zA-Z]?)",
    ),
    Rule(
        "street_romance",
        "address", "digit",
        r"(?:^|[^A-Za-zÀ-ӿ])((?:\d{1,4},? ?(?:bis|ter)?,? ?(?i:rue|avenue|boulevard|place|chemin|impasse|quai) (?:[A-Za-zÀ-ӿ][A-Za-zÀ-ӿ'’-]*\.? ?){1,5}[A-Za-zÀ-ӿ])|"
        r"(?:Rua|Avenida|Av\.|Calle|C/|Via|Viale|Piazza|Corso|Plaza|Paseo|Travessa|Praça|Carrer) (?:[A-Za-zÀ-ӿ'’.-]+ ){1,5}?,? ?(?:n[.º°]? ?)?\d{1,5})",
    ),
    Rule(
        "address_said",
        "address", "digit",
        r"(?i:\b(?:address|lives? at|living at|reside at|resides at|ship(?:ped)? to|deliver(?:ed)? to|mail(?:ed)? to|located at))"
        r"(?: is|:| =)?:? {0,2}[\"'“]?(\d{1,6}[A-Za-z]? [A-ZÀ-ӿ][A-Za-zÀ-ӿ'’.-]+(?: [A-Za-zÀ-ӿ0-9'’.#-]+){0,4})(?:[,\n;\"'”]|\. |\.$|$)",
        sure=False,
    ),
    Rule("zip_us", "postcode", "digit", rf"(?:, |\b)(?:{_STATES}),? {{0,2}}(\d{{5}}(?:-\d{{4}})?)"),
    Rule(
        "postcode_said",
        "postcode", "digit",
        r"(?i:\b(?:zip|postal|post)[ -]?code|\bzip)(?: is|:|=| of){0,2} {0,2}([A-Z0-9]{2,4}[ -]?[0-9][A-Z0-9]{1,5})",
    ),
    Rule("postcode_zh", "postcode", "digit", r"(?:邮编|邮政编码)(?:[:： ]|是|为){0,3}(\d{6})"),
    Rule(
        "address_zh",
        "address", "cjk",
        rf"((?:{_PROVINCES})(?:省|市|自治区|壮族自治区|回族自治区|维吾尔自治区|特别行政区)?(?:[一-鿿]{{2,7}}?(?:市|自治州|地区|盟))?"
        rf"(?:[一-鿿]{{1,7}}?(?:区|县|旗|市))?(?:[一-鿿]{{1,8}}?(?:镇|乡|街道))?[一-鿿]{{1,10}}?{_ROAD_ZH}[一-鿿]{{0,2}}{_HOUSE_ZH}"
        rf"(?:[一-鿿]{{0,10}}?{_HOUSE_ZH}){{0,4}})",
        whole=False,
    ),
    Rule(
        "address_said_zh",
        "address", "cjk",
        r"(?:地址|住址|住在|家住|寄到|寄往|送到|送至|位于)(?:[:： ]|是|为|在){0,3}"
        rf"([一-鿿]{{2,20}}?{_ROAD_ZH}[一-鿿]{{0,2}}{_HOUSE_ZH}(?:[一-鿿]{{0,10}}?{_HOUSE_ZH}){{0,4}})",
        whole=False,
    ),
    Rule(
        "road_zh",
        "address", "cjk",
        rf"(?:^|[^[一-鿿]]|[在到于往是住])([一-鿿]{{2,4}}?(?:大道|大街|路|街|巷|弄|胡同)\d{{1,5}}(?:号|弄)(?:[一-鿿]{{0,8}}?{_HOUSE_ZH}){{0,4}})",
        whole=False,
        sure=False,
    ),
)  # fmt: skip
