"""Patterns for names by the words around them, in English and Chinese.

Letters are those of the Latin, Greek and Cyrillic alphabets, spelled as one range: the Unicode classes, repeated, make
automata too large for RE2's memory. Whether a word starts with a capital is checked after the match.
"""

from __future__ import annotations

from evalkit.sanitize.rules.given import GIVEN_NAMES
from evalkit.sanitize.rules.rule import Rule

__all__ = ["NAME_RULES", "PLAIN_SURNAMES", "SURNAMES"]

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
SURNAMES = (
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
_TITLES_ZH = "先生|女士|小姐|太太|老师|医生|总经理|经理|同学|师傅|律师|教授|总监|主任|董事长|总裁"

NAME_RULES: tuple[Rule, ...] = (
    Rule(
        "name_home",
        "name", "any",
        r"(?:^|[\s\"'`=:(,\[>{]|file://|\s-[A-Za-z])(?:/home/|/Users/|/mnt/c/Users/|/c/Users/|/export/home/"
        r"|[A-Za-z]:\\{1,2}Users\\{1,2}|[A-Za-z]:/Users/)([A-Za-z][A-Za-z0-9._-]{2,31})",
        whole=False, sure=False,
    ),
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
        "name", "around",
        rf"(?:^|[^A-Za-zÀ-ӿ ] ?|[a-z,:] ){_TWO_WORDS},? ?(?:[<(\[]?(?:mailto:)?[A-Za-z0-9._+-]{{1,64}}@|[(:]?\+[1-9]\d|\(?(?i:dob|d\.o\.b|born|date of birth)\b)",
        around=(("@", " +", "(+", ":+", "dob", "DOB", "D.O.B", "born", "Born", "ate of birth"), 160, 12),
        whole=False,
        sure=False,
    ),
    Rule(
        "name_given",
        "name", "named",
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
        rf"((?:{SURNAMES})[一-鿿]{{0,2}}?)(?:{_TITLES_ZH})",
        whole=False,
    ),
    Rule(
        "name_is_zh",
        "name", "cjk",
        rf"(?:我是|我姓名|本人|这里是|你好[,，]?|您好[,，]?)((?:{SURNAMES})[一-鿿]{{1,2}})(?:[,，.。;；!！、\s]|$)",
        sure=False,
    ),
    Rule(
        "name_before_number_zh",
        "name", "cjk",
        rf"(?:^|[,，。;；:：、\s(（])((?:{SURNAMES})[一-鿿]{{1,2}})[,，、\s(（:：]{{0,2}}(?:(?:的)?(?:手机|电话|身份证|联系电话|手机号|邮箱)|1[3-9]\d{{9}})",
        whole=False,
        beside="cn_mobile",
        sure=False,
    ),
)  # fmt: skip
