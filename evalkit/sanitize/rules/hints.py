"""Keys of objects that say what their value is, in English and Chinese.

A key is compared without case and separators: ``firstName``, ``first_name`` and ``First-Name`` are one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from evalkit.sanitize.policy import Kind

__all__ = [
    "HINTS",
    "PERSON_IDS",
    "PERSON_KEYS",
    "PERSON_PARENTS",
    "PERSON_ROLES",
    "PAYMENT_PARENTS",
    "SECRET_ENDINGS",
    "SECRET_PARENTS",
    "SPOKEN_SECRETS",
    "bare_key",
    "hint_of",
]

HINTS: dict[Kind, tuple[str, ...]] = {
    "secret": tuple(
        "password passwd pwd passphrase passcode secret clientsecret apikey xapikey apitoken accesstoken refreshtoken "
        "idtoken authtoken bearertoken sessiontoken token authorization proxyauthorization xauthtoken cookie cookies "
        "setcookie pin pinnumber securitycode verificationcode mfacode totp smscode recoverycode csc privatekey secretkey secretaccesskey awssecretaccesskey accesskey signingkey encryptionkey "
        "dbpass userpass rootpass adminpass smtppass mailpass mysqlpass redispass pgpass connectionstring credential credentials csrftoken xcsrftoken otp onetimepassword cvv cvc cvv2 "
        "密码 口令 密钥 令牌 验证码 登录密码 支付密码".split()
    ),
    "national_id": tuple(
        "nationalid nationalidnumber idcard idcardno idcardnumber identitycard idnumber passport passportno "
        "passportnumber driverlicense driverslicense driverlicensenumber driverslicensenumber licensenumber taxid "
        "taxnumber nino nationalinsurancenumber imei iccid imsi mrn medicalrecordnumber patientid memberid membernumber "
        "membershipnumber policynumber policyno insurancenumber subscriberid accountnumber accountno bankaccount "
        "bankaccountnumber frequentflyernumber 病历号 住院号 就诊卡号 医保号 医保卡号 社保号 保单号 会员号 银行账号 账户号 身份证 身份证号 身份证号码 证件号 证件号码 护照 护照号 护照号码".split()
    ),
    "card": tuple(
        "cardnumber creditcard creditcardnumber debitcard debitcardnumber ccnumber pan 卡号 银行卡 银行卡号 "
        "信用卡号".split()
    ),
    "iban": ("iban", "ibannumber"),
    "ssn": tuple("ssn socialsecurity socialsecuritynumber socialsecurityno ssnno".split()),
    "email": tuple("email emailaddress mail emailid contactemail 邮箱 电子邮箱 邮件地址".split()),
    "phone": tuple(
        "phone phonenumber phoneno mobile mobilenumber mobilephone mobileno cell cellphone tel telephone "
        "telephonenumber fax faxnumber contactnumber contactphone homephone workphone whatsapp "
        "手机 手机号 手机号码 电话 电话号码 联系电话 联系方式 收货电话".split()
    ),
    "ip": tuple("ip ipaddress ipaddr clientip remoteip remoteaddr sourceip xforwardedfor xrealip".split()),
    "mac": tuple("mac macaddress macaddr hardwareaddress ethernetaddress".split()),
    "plate": tuple(
        "licenseplate licenceplate numberplate platenumber plateno vehicleplate registrationplate 车牌 车牌号 车牌号码".split()
    ),
    "account": tuple(
        "userid username login loginname screenname userhandle accountname wechat wechatid qq telegram instagram twitter 微信 微信号 用户名 登录名 账号".split()
    ),
    "payment": tuple("paymentid paymentmethodid paymentmethodtoken cardid instrumentid".split()),
    "address": tuple(
        "address address1 address2 address3 addressline addressline1 addressline2 addressline3 addr addr1 addr2 street "
        "streetaddress street1 street2 streetline1 streetline2 shippingaddress billingaddress homeaddress "
        "mailingaddress deliveryaddress postaladdress residentialaddress "
        "地址 收货地址 住址 家庭住址 详细地址 通讯地址 街道 街道地址".split()
    ),
    "birth_date": tuple(
        "dob dateofbirth birthdate birthday birthdt borndate dateofbirthiso 出生日期 生日 出生年月日".split()
    ),
    "name": tuple(
        "firstname lastname givenname familyname surname fullname middlename forename maidenname nickname displayname "
        "legalname personname customername clientname passengername guestname patientname contactname employeename "
        "membername ownername buyername payername payeename recipient recipientname receiver receivername consignee billingname shippingname "
        "cardholder cardholdername nameoncard accountholder accountholdername beneficiaryname approver approvername "
        "approvedby "
        "开户人 户名 收款人 付款人 投保人 被保险人 受益人 就诊人 监护人 车主 机主 旅客姓名 病人姓名 学生姓名 员工姓名 "
        "policyholder insuredname drivername callername tenantname studentname doctorname nursename physician "
        "beneficiary emergencycontact nextofkin accountholdername sendername "
        "姓名 名字 收货人 收件人 联系人 持卡人 客户姓名 真实姓名 乘客姓名 患者姓名 户主 收货人姓名".split()
    ),
    "postcode": tuple("zip zipcode postcode postalcode postal zipplus4 邮编 邮政编码".split()),
}

SECRET_ENDINGS: tuple[str, ...] = (
    "password", "passwd", "secret", "apikey", "token", "privatekey", "secretkey", "accesskey", "密码",
)  # fmt: skip
"""A key that ends like this holds a secret, but for the tokens that are cursors or counts."""

_ENDINGS: dict[str, Kind] = {
    **dict.fromkeys(("firstname", "lastname", "fullname", "givenname", "familyname", "surname"), "name"),
    **dict.fromkeys(("phonenumber", "mobilenumber"), "phone"),
    **dict.fromkeys(("dateofbirth", "birthdate"), "birth_date"),
}
"""A key that ends like this holds such a value of somebody's: ``customer_first_name``."""
_PHONE_OF = re.compile(r"[A-Za-z]{2}(?:[_ .-]+[Pp]hone|(?<=[a-z])Phone)")
"""``customer_phone``, ``customerPhone``; a smartphone and an iPhone are goods."""

_NO_SECRET: tuple[str, ...] = (
    "pagetoken", "nexttoken", "continuationtoken", "synctoken", "maxtoken", "mintoken", "stoptoken", "eostoken",
    "bostoken", "padtoken", "unktoken", "septoken", "clstoken", "masktoken", "pertoken",
)  # fmt: skip

PERSON_KEYS: frozenset[str] = frozenset(
    key for kind in ("email", "phone", "birth_date", "ssn", "national_id", "address", "postcode") for key in HINTS[kind]
)
"""An object that has one of these keys beside ``name`` describes a person."""

PERSON_PARENTS: frozenset[str] = frozenset(
    "user customer passenger passengers patient client contact contacts person people recipient sender employee member "
    "guest traveler traveller buyer payer payee beneficiary cardholder subscriber applicant tenant insured driver "
    "caller attendee attendees participant participants savedpassengers customers users patients employees "
    "客户 用户 乘客 患者 联系人 收件人".split()
)
"""``name`` in the object under one of these keys is a person's."""

PERSON_IDS: frozenset[str] = frozenset(f"{one}{ending}" for one in PERSON_PARENTS for ending in ("id", "编号"))
"""``name`` beside one of these keys is a person's where it looks like a Chinese name; it may be a thing's of theirs."""

PERSON_ROLES: frozenset[str] = PERSON_PARENTS | frozenset(
    "owner holder author assignee assignedto reporter requester requestor manager supervisor doctor nurse physician provider reviewer "
    "signer signedby createdby updatedby submittedby requestedby approvedby bookedby cancelledby from to cc sentby caller "
    "callee host landlord student teacher instructor resident spouse parent child dependent "
    "开户人 机主 车主 医生 护士 申请人 经办人 负责人 寄件人 签收人 预订人 入住人 会员 员工 学生 司机".split()
)
"""A text under one of these keys is a name where it looks like one: two capitalised words, a Chinese family name first."""

SECRET_PARENTS: frozenset[str] = frozenset("cookies cookie secrets credentials passwords apikeys storagestate".split())
"""Under one of these keys, whatever looks like a token is one."""

SPOKEN_SECRETS: frozenset[str] = frozenset(
    "password passwd pwd passcode pin pinnumber otp onetimepassword cvv cvc cvv2 csc securitycode verificationcode mfacode "
    "totp smscode recoverycode 密码 口令 验证码 登录密码 支付密码".split()
)
"""Keys of secrets that may be JSON numbers; under others a number is none."""

PAYMENT_PARENTS: frozenset[str] = frozenset(
    "paymentmethods paymentmethod savedpaymentmethods instruments wallet paymentoptions".split()
)
"""``id`` anywhere under one of these keys names a means of payment."""

_KIND_OF: dict[str, Kind] = {key: kind for kind, keys in HINTS.items() for key in keys}


@lru_cache(maxsize=4096)
def bare_key(key: str) -> str:
    """`key` in lower case, letters and digits only."""
    return "".join(char for char in key.lower() if char.isalnum())


def hint_of(key: str) -> Kind | None:
    """The kind that a value under `key` is of, by the built-in table."""
    bare = bare_key(key)
    known = _KIND_OF.get(bare) or (_KIND_OF.get(bare[:-1]) if bare.endswith("s") else None)
    if known == "secret" and bare not in _KIND_OF and bare.endswith("tokens"):
        return None  # how many, or which a model read
    if known is not None:
        return known
    if bare.endswith(SECRET_ENDINGS) and not bare.endswith(_NO_SECRET):
        return "secret"
    if _PHONE_OF.search(key) and bare.endswith("phone"):
        return "phone"
    return next((kind for ending, kind in _ENDINGS.items() if bare.endswith(ending)), None)
