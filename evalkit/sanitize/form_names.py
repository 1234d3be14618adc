"""Whether words are somebody's name or address after all."""

from __future__ import annotations

import re

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.folding import fold
from evalkit.sanitize.normal import MARKS, composed, has_cjk, is_cjk, name_words
from evalkit.sanitize.ranges import is_name_surrogate
from evalkit.sanitize.rules.given import NO_FAMILY, PLACE_WORDS, THING_WORDS
from evalkit.sanitize.rules.said_names import PLAIN_SURNAMES, SURNAMES
from evalkit.sanitize.rules.words import COMMON, GENERIC, NAME_FRAMES, NO_NAMES, PLACEHOLDERS, ROLES, TITLES
from evalkit.sanitize.rules.words_zh import USUAL_WORDS

__all__ = [
    "claim_of_address",
    "claim_of_name",
    "judge_address",
    "judge_name",
    "judge_name_home",
    "judge_name_of_two",
    "looks_like_a_name",
]

_NO_HOME = GENERIC | ROLES | frozenset(
    "ubuntu debian fedora centos alpine linux ec azureuser vscode coder codespace jovyan nobody docker "
    "jenkins circleci linuxbrew homebrew git svn www http nginx apache ftp mysql postgres redis shared public "
    "administrator openhands swe oai claude codex cursor devin sandbox container remote gitpod travis "
    "runneradmin vagrant pi work workspace project projects src code ide student jupyter kaggle colab "
    "sagemaker airflow spark hadoop deploy deployer my me you your username someone somebody example envs "
    "assist agents models testuser devuser products product dashboard settings orders order cart checkout account "
    "accounts profile profiles about contact blog news help search category categories item items message messages "
    "notification notifications explore report reports services customers users page pages login logout signin signup "
    "register welcome overview main feed events jobs store shop features pricing docs tools images image assets "
    "backend frontend webapp appuser api app mobile desktop python nodejs java golang php ruby "
    "static public files web site html views screens screen components component index details detail list lists "
    "builder build builds dist container containers cache tmp temp mail games game music video videos photos books "
    "team teams groups group tasks task tests test notes inbox calendar favorites history wallet payments".split()
)  # fmt: skip
"""Names of accounts that are nobody's."""
_ROUTE = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|href|routes?)\b[\"']?\s?[=:(]?\s?[\"'`]?/(?:home|Users)/\Z")
"""What makes of a home a page of a site."""
_USERS = re.compile(r"[/\\]Users[/\\]+\Z")
_FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|html?|css|[jt]sx?|vue|py|md|json|txt|csv|pdf)\Z")
_MOST_WORDS = 4
_MOST_WORDS_IN_ALL = 8
_NAME_LIKE = re.compile(
    rf"[\"“”«(]?[^\W\d_](?:[\w\s.'’ʼ,·;&/()\"“”«»-]|[^\x00-\u1fff\ufb00-\uffef]|[{MARKS}]){{0,119}}"
)
_NO_ADDRESS = frozenset("not no is see has must can invalid missing required unknown".split())
"""How a remark begins that stands where an address was to stand: ``not found``."""
_REPOSITORY = re.compile(r"[a-z][\w.-]*/[\w.-]+|[A-Z][\w.-]*/[a-z][\w.-]*")
"""What GitHub has under ``full_name``; airlines write ``BARLO/QIWEX``."""
_FULL_NAME = re.compile(r"[A-ZÀ-ӿ][^\W\d_'’.-]*[\w'’-]*(?: [A-ZÀ-ӿ]\.)?(?: [A-ZÀ-ӿ][\w'’-]+){1,2}")
_FULL_NAME_ZH = re.compile(rf"(?:{PLAIN_SURNAMES})[一-鿿]{{1,2}}")
_FAMILY_ZH = re.compile(PLAIN_SURNAMES)
_ANY_FAMILY_ZH = re.compile(SURNAMES)
_PERSONAL = ("先生", "女士", "小姐", "太太")
_BEFORE_NAME = "请叫给是和与及找问对向替为由让、，。：的"
_NO_END = tuple("的姓老了是在我你您他她们部班时找说过和对个位说有")
_NO_PART = NO_FAMILY | NO_NAMES | GENERIC | PLACEHOLDERS | TITLES
_IN_PLACE = re.compile(rf"(?:^|[^A-Za-z])(?:{'|'.join(map(re.escape, PLACE_WORDS))})[ -]$")
_THINGS = tuple(f" {word}" for word in THING_WORDS)


def judge_name(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The name without the words behind it that start a sentence or are none (`Dear Mia Please`)."""
    if is_cjk(value[0]):
        return _judge_chinese(rule, value, before, after)
    kept: list[str] = []
    for word in value.split(" "):
        if is_name_surrogate(word):
            return None
        if word.lower().rstrip(".'’") in NO_NAMES or (not kept and not word[0].isupper()):
            break
        kept.append(word)
    del kept[_MOST_WORDS:]
    while kept and not kept[-1][0].isupper():
        kept.pop()
    name = re.sub(r"['’]s$", "", " ".join(kept)).rstrip("'’-.")
    if " " not in name and (rule == "name_introduced" or not _is_telling(name, before)):
        return None
    return claim_of_name(name) if len(name) > 1 else None


def judge_name_home(rule: str, value: str, before: str, after: str) -> Claim | None:
    """Whose home a folder is; None for the accounts of machines."""
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", value)]
    if _ROUTE.search(before):
        return None
    ends = after[:1] in ("", "/", "\\", '"', "'", ":", ")") or (_USERS.search(before) and not after[0].isalnum())
    if not ends or _FILE.search(value) or not words or _NO_HOME.issuperset(words):
        return None
    if words[-1].endswith(("agent", "bot", "runner", "service")):
        return None
    if re.search(r"[\d._-]", value):
        return None if words[0] in _NO_HOME else Claim("account", value, value)
    return claim_of_name(value)


def _judge_chinese(rule: str, value: str, before: str, after: str) -> Claim | None:
    """A Chinese name is two to four characters with nothing around that makes a word of them."""
    if rule == "name_titled_zh" and not after.startswith(_PERSONAL) and not _may_begin(value, before):
        return None
    if rule == "name_said_zh" and before.endswith(("是", "为", "叫做")) and _ANY_FAMILY_ZH.match(value) is None:
        return None  # 司机是找不到的
    if (
        value.startswith(("和", "谢谢"))
        or (value[0] == "谢" and before.endswith(("谢", "感", "多")))
        or value.endswith(_NO_END)
    ):
        return None  # 和丁先生, 谢谢李先生, 姓李的女士
    if len(value) < 2 or value in NO_NAMES or value in COMMON or _is_usual(value):
        return None
    return claim_of_name(value)


def _may_begin(value: str, before: str) -> bool:
    """Whether a Chinese name may begin here: after a sign, a verb, or a particle, or where its first is rarely else."""
    if not is_cjk(before[-1:] or " ") or before[-1] in _BEFORE_NAME:
        return True
    return len(value) == 2 and _FAMILY_ZH.match(value) is not None


def _is_usual(name: str) -> bool:
    """Whether a Chinese name is a usual word; or such a word and one character, where the first is rarely a name's."""
    return name in USUAL_WORDS or (len(name) == 3 and name[:2] in USUAL_WORDS and _FAMILY_ZH.match(name) is None)


def judge_name_of_two(rule: str, value: str, before: str, after: str) -> Claim | None:
    """Two or three words of which none is a usual one behind a word for a person, and not all are common words."""
    if rule == "name_given" and (_IN_PLACE.search(before) or after.lower().startswith(_THINGS)):
        return None
    words = value.split(" ")
    low = [word.lower().strip(".'’-") for word in words]
    if rule == "name_before_contact" or len(words) > 2:
        while words and (low[-1] in _NO_PART or not words[-1][:1].isupper()):
            words.pop()
            low.pop()
    if len(words) < 2 or any(word in _NO_PART or is_name_surrogate(word) for word in low):
        return None
    if (
        words[0] in PLACE_WORDS
        or all(word in COMMON for word in low)
        or any(word.isupper() and len(word) > 3 for word in words)
    ):
        return None
    name = re.sub(r"['’]s$", "", " ".join(words)).rstrip("'’-.")
    return claim_of_name(name)


def looks_like_a_name(value: str) -> bool:
    """Whether a whole text is two or three capitalised words, or a Chinese family name and one or two characters."""
    if _FULL_NAME_ZH.fullmatch(value):
        return value not in NO_NAMES and value not in COMMON and not _is_usual(value)
    return _FULL_NAME.fullmatch(value) is not None and judge_name_of_two("", value, "", "") is not None


def _is_telling(word: str, before: str) -> bool:
    """Whether a single name can be looked for: it is no common word, or stands where such a one is looked for too."""
    return before.endswith(NAME_FRAMES) or (len(word) > 2 and word.lower() not in COMMON)


def claim_of_name(value: str) -> Claim | None:
    """The claim for a whole name; None when it is none."""
    folded = fold(value)
    plain = value if folded is None else folded.text  # without invisible signs
    if not _NAME_LIKE.fullmatch(plain) or _REPOSITORY.fullmatch(plain):
        return None
    if any(char.isdigit() for char in value) or "_" in value:
        return None
    words = [word for word in name_words(plain) if word.lower() not in TITLES and not is_name_surrogate(word)]
    said = words[: len(name_words(plain.partition("(")[0]))]  # what is noted in brackets may be long
    if len(said) > _MOST_WORDS and sum(word[0].islower() for word in said) > len(said) / 2:
        return None  # a sentence
    if not words or len(words) > _MOST_WORDS_IN_ALL or all(word.lower() in GENERIC | PLACEHOLDERS for word in words):
        return None
    return Claim("name", composed(plain).casefold(), value)


def judge_address(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a postal address; None when it is none."""
    if rule == "street" and not (len(value.split()) <= 7 and re.match(r"\d{1,6}\b", value)):
        return None
    return claim_of_address(value.rstrip(" ,"))


def claim_of_address(value: str) -> Claim | None:
    """The claim for a whole postal address; None when it is none."""
    if "@" in value or "://" in value or not 2 <= len(value) <= 200:
        return None
    if re.fullmatch(r"[0-9A-Fa-fx.:]+", value) and not value.isdigit():
        return None  # an IP address, or one in a computer's memory
    words = re.findall(r"\w+", value)
    if words and words[0] in _NO_ADDRESS and not any(map(str.isdigit, value)):
        return None
    wordy = len(words) >= 2 or has_cjk(value) or len(value) >= 4
    return Claim("address", re.sub(r"[\s,.]+", " ", value).strip().casefold(), value) if wordy else None
