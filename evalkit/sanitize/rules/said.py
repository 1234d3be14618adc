"""Patterns for what is known by the words around it, in English and Chinese: names, addresses, dates of birth, ids.

Letters are those of the Latin, Greek and Cyrillic alphabets, spelled as one range: the Unicode classes, repeated, make
automata too large for RE2's memory. Whether a word starts with a capital is checked after the match.
"""

from __future__ import annotations

from evalkit.sanitize.rules.given import GIVEN_NAMES
from evalkit.sanitize.rules.rule import LEFT, Rule

__all__ = ["PLAIN_SURNAMES", "SAID_RULES"]

_UPPER = "[A-ZÀ-ӿ]"
_LETTER = "[A-Za-zÀ-ӿ]"
_WORD = rf"{_UPPER}(?:{_LETTER}|['’-])*"
_SMALL = r"van|von|der|den|de|da|di|del|della|la|le|bin|ibn|al|dos|das|ter|zu"
_NAME = rf"({_WORD}(?: (?:{_UPPER}\.|{_WORD}|{_SMALL}))*)"
_FULL_NAME = rf"({_WORD}(?: (?:{_UPPER}\.|{_WORD}|{_SMALL}))+)"
_TWO_WORDS = rf"({_WORD}(?: {_UPPER}\.)?(?: (?:{_SMALL}))? {_WORD}(?: {_WORD})?)"
_ROLE = (
    r"passenger|patient|customer|guest|client|caller|cardholder|account ?holder|policy ?holder|member|subscriber|insured|"
    r"beneficiary|traveller|traveler|tenant|employee|applicant|claimant|recipient|payee|payer|nurse|driver|resident|student"
)
_GIVEN = "|".join(GIVEN_NAMES)
_LABEL = r"[\"'*`]{0,2} ?(?:[:=]|is\b) ?[\"'*`]{0,2}"
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
_SURNAMES = (
    "欧阳|上官|司马|诸葛|司徒|夏侯|皇甫|尉迟|公孙|慕容|令狐|宇文|长孙|东方|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高梁郑罗宋谢唐韩曹许"
    "邓萧冯曾程蔡彭潘袁董余苏叶吕魏蒋田杜丁沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷龙史陶黎贺顾毛郝龚邵钱"
    "严覃武莫孔汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗"
    "谷曲盛冉翁蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全"
    "佟应臧闵苟邬边卞姬和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝]"
)
PLAIN_SURNAMES = (
    "欧阳|上官|司马|诸葛|司徒|夏侯|皇甫|尉迟|慕容|令狐|宇文|"
    "[王李张刘陈杨黄赵吴徐孙朱胡郭林梁郑罗宋谢唐韩曹邓萧冯蔡彭潘袁董苏吕魏蒋杜丁沈傅卢汪崔陆廖姚邱谭韦贾邹熊秦阎薛侯陶黎贺郝龚邵覃莫孔樊葛邢]"
)
"""Those that begin no usual word, so that a name can follow without a sign."""
_TITLES_ZH = "先生|女士|小姐|太太|老师|医生|经理|同学|师傅|律师|教授|总监|主任"

SAID_RULES: tuple[Rule, ...] = (
    # names
    Rule(
        "name_said",
        "name", "any",
        r"\b(?:[Mm]y|[Hh]is|[Hh]er|[Tt]heir|[Tt]he|[Yy]our)(?: (?:full|first|last|legal|given|family|customer|user|patient|passenger)){0,2}"
        rf" name(?: is|'s|’s|:|=) ?[\"'“]?{_NAME}",
    ),
    Rule(
        "name_introduced",
        "name", "any",
        rf"\b(?:I am|I'm|I’m|[Cc]all me|[Ss]peaking (?:with|to)) {_FULL_NAME}",
        sure=False,
    ),
    Rule(
        "name_titled",
        "name", "any",
        rf"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau|Monsieur|Madame|Mme|Señor|Señora|Sr|Sra)\.? {_NAME}",
    ),
    Rule(
        "name_greeted",
        "name", "any",
        rf"(?:^|[\n>\"“.!?，。！：] ?)(?:[Dd]ear|DEAR|Hi|Hello|Hey|Good (?:morning|afternoon|evening)|Attn:?|To:|FAO:?) {_NAME}(?:[,，:!.\n<]|$| [-–—])",
        sure=False,
    ),
    Rule(
        "name_signed",
        "name", "any",
        r"(?i:regards|sincerely|best wishes|all the best|yours truly|yours faithfully|cheers|thank you|thanks|warmly|"
        rf"respectfully|cordially|signed),?(?i: yours)?[,.!]?\s{{0,3}}\n\s{{0,3}}[-–—]?{_NAME}\s{{0,3}}(?:[\n,|]|$)",
        sure=False,
    ),
    Rule(
        "name_labelled",
        "name", "any",
        r"(?i:\b(?:full|first|last|given|family|legal|sur|customer|patient|passenger|guest|client|contact|recipient|"
        r"cardholder|account ?holder|beneficiary|employee|applicant|payee|payer|sender|traveller|traveler|owner|buyer)"
        rf"[ _-]?(?:full[ _-]?)?names?){_LABEL}{_NAME}",
    ),
    Rule(
        "name_role",
        "name", "any",
        r"\b(?i:customer|patient|passenger|guest|recipient|cardholder|account holder|beneficiary|applicant|payee|"
        rf"consignee|ship to|bill to|signed by|attention|prepared for|contact person|next of kin)[:=] ?{_NAME}",
        sure=False,
    ),
    Rule(
        "name_of_record",
        "name", "any",
        rf"(?:^|[^A-Za-zÀ-ӿ])[Nn]ame[\"'*]{{0,2}}[:=] ?[\"'*]{{0,2}}{_FULL_NAME}[\"'*]{{0,2}}[\s,;|]{{1,4}}[\"'*-]{{0,3}} ?(?i:e-?mail|phone|tel|mobile|"
        r"address|dob|date of birth|birth|age|gender|sex|ssn|id\b|passport|account|card)",
    ),
    Rule(
        "name_of_person",
        "name", "any",
        rf"\b(?i:{_ROLE})(?:,|:| is| was| named| called| verified:| on file:?)? {_TWO_WORDS}",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_after_verb",
        "name", "any",
        r"\b(?i:(?:hello|hi|hey|good (?:morning|afternoon|evening)|yes),? (?:this is|it is|it's)|spoke with|spoken with|speaking with|talked to|talked with|chatted with|met with|on behalf of|belongs to|registered to|"
        r"registered under|issued to|addressed to|reservation for|reservation of|booking for|booking of|booked for|booked by|"
        r"booked under|account of|account for|profile of|profile for|signed by|in the name of|owned by|submitted by|requested by|"
        r"appointment for|appointment with|prescribed to|referred by|emergency contact:?|contact person:?|next of kin:?|"
        r"transfer(?:red)?[^.\n]{0,24} (?:from|to)|(?:wire|remittance|deposit)[^.\n]{0,24} (?:from|to))"
        rf" {_TWO_WORDS}",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_before_contact",
        "name", "any",
        rf"(?:^|[^A-Za-zÀ-ӿ ] ?|[a-z,:] ){_TWO_WORDS},? ?(?:[<(\[]?(?:mailto:)?[A-Za-z0-9._+-]{{1,64}}@|[(:]?\+[1-9]\d|\(?(?i:dob|d\.o\.b|born|date of birth)\b)",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_given",
        "name", "any",
        rf"(?:^|[^A-Za-zÀ-ӿ'’-])((?:{_GIVEN})(?:-{_WORD})?(?: {_UPPER}\.)?(?: (?:{_SMALL}))? {_WORD})",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_letterhead",
        "name", "digit",
        rf"(?:^|\n|[Aa]ddress: ?){_FULL_NAME},?[ \t]*\n{{1,2}}[ \t]{{0,8}}\d{{1,6}} {_UPPER}{_LETTER}",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_said_zh",
        "name", "cjk",
        r"(?:我叫|我的名字是|名叫|叫做|(?:姓名|收货人|联系人|收件人|寄件人|客户|患者|乘客|持卡人|户主|经办人|申请人|用户名称|客户名称|客户姓名|负责人"
        r"|开户人|户名|收款人|付款人|汇款人|投保人|被保险人|受益人|就诊人|监护人|车主|机主|会员|旅客|病人|学生|员工|司机|租客|房东|签收人|预订人|入住人|医生|护士|法人)"
        r"(?:[:：]|是|为)\s?)([一-鿿]{2,4}(?:·[一-鿿]{1,8})?)(?:[,，.。;；!！、\s(（\[\"”'|]|[0-9A-Za-z]|$)",
    ),
    Rule(
        "name_of_person_zh",
        "name", "cjk",
        r"(?:乘客|旅客|患者|病人|客户|会员|用户|机主|车主|收件人|收货人|寄件人|开户人|持卡人|收款人|付款人|投保人|被保险人|受益人|签收人|"
        r"预订人|入住人|联系人|学生|员工|司机|请联系|致电|转账给|汇款给|医生|护士)"
        rf"((?:{PLAIN_SURNAMES})[一-鿿]{{1,2}}?)(?:[的已于在将，,。、；;！!（(\s:：男女]|先生|女士|来电|反映|申请|预订|投诉|要求|表示|$)",
        whole=False,
        sure=False,
    ),
    Rule(
        "name_titled_zh",
        "name", "cjk",
        rf"((?:{_SURNAMES})[一-鿿]{{0,2}}?)(?:{_TITLES_ZH})",
        whole=False,
    ),
    Rule(
        "name_is_zh",
        "name", "cjk",
        rf"(?:我是|我姓名|本人|这里是|你好[,，]?|您好[,，]?)((?:{_SURNAMES})[一-鿿]{{1,2}})(?:[,，.。;；!！、\s]|$)",
        sure=False,
    ),
    Rule(
        "name_before_number_zh",
        "name", "cjk",
        rf"(?:^|[,，。;；:：、\s(（])((?:{_SURNAMES})[一-鿿]{{1,2}})[,，、\s(（:：]{{0,2}}(?:(?:的)?(?:手机|电话|身份证|联系电话|手机号|邮箱)|1[3-9]\d{{9}})",
        whole=False,
        beside="cn_mobile",
        sure=False,
    ),
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
    # ids, phones and accounts
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
        r"(?:微信|QQ|ＱＱ|支付宝|微博)(?:号码?|账号)?(?:[:：]|是|为)\s?([A-Za-z0-9][A-Za-z0-9_-]{4,24})",
    ),
    Rule(
        "handle",
        "account", "any",
        r"(?i:\b(?:twitter|telegram|instagram|github|tiktok|skype|wechat|discord)(?: (?:handle|id|user|account))?(?: is|:)? ?@?)([A-Za-z][A-Za-z0-9]*[._-]?[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*)",
    ),
    Rule(
        "account_named",
        "account", "digit",
        rf"(?:^|[^A-Za-z0-9])((?i:{_GIVEN})[._-][A-Za-z]{{2,24}}[._-]?\d{{2,6}})",
    ),
    Rule(
        "account_said",
        "account", "digit",
        r"(?i:\buser[ _-]?(?:id|name)|\blogin(?: name)?)(?: is|:| of| =|=)? {0,2}[`\"'*]{0,2}"
        r"([A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+){1,5})",
    ),
)  # fmt: skip
