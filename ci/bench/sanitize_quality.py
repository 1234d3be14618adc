"""What the detectors find and what they take for something though it is nothing, beside presidio; and how fast.

Printed as JSON:

- ``presidio-research``: recall and precision by type over ``synth_dataset_v2`` (1,500 English texts with spans, MIT).
  A gold value is found when all its letters and digits are covered. A span of ours is right when it touches a gold
  value of any personal type; a gold value of a type that we don't look for (places, ages, job titles) makes it neither
  right nor wrong. ``half`` takes every second text only.
- ``gitleaks``: the share of positives found and of negatives wrongly taken. The positives are made from every rule's
  own pattern (seeded); with ``--gitleaks-source``, a clone of github.com/gitleaks/gitleaks, also the literal positives
  and negatives of its own tests, read from the Go source. A negative there is one of a single rule: what another rule
  takes is counted apart.
- ``speed``: megabytes a second on one core, on a seeded mix of English and Chinese chat, JSON, code and base64.
- with ``--presidio``, the same texts through presidio-analyzer (its spaCy model where one is installed, else its
  patterns only), and with ``--ner NAME`` our detectors with that recogniser as well.

    python ci/bench/sanitize_quality.py [--corpora DIR] [--gitleaks-source DIR] [--ner spacy] [--presidio] [--half 0|1]
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpora import BESIDE
from sanitize_samples import literals, made_from

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.keywords import keywords_of
from evalkit.sanitize.ner import load_recogniser
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.secrets import gitleaks_rules

Found = list[tuple[int, int, str]]
"""Start, end and kind of what a detector found in a text."""
Find = Callable[[str], Found]

OURS = {
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "EMAIL_ADDRESS": "email",
    "IP_ADDRESS": "ip",
    "US_SSN": "ssn",
    "US_DRIVER_LICENSE": "national_id",
    "PERSON": "name",
    "STREET_ADDRESS": "address",
    "ZIP_CODE": "postcode",
}
"""Types of the data set that the detectors look for. The others (places, organisations, dates, titles) they don't."""
GOALS = {"PHONE_NUMBER": 0.97, "CREDIT_CARD": 0.97, "IBAN_CODE": 0.97, "EMAIL_ADDRESS": 0.97, "IP_ADDRESS": 0.97,
         "US_SSN": 0.97, "precision": 0.95}  # fmt: skip
PRESIDIO = ["PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "EMAIL_ADDRESS", "IP_ADDRESS", "US_SSN", "US_DRIVER_LICENSE",
            "PERSON", "LOCATION"]  # fmt: skip


class Sample(NamedTuple):
    """A text and what is personal in it."""

    text: str
    gold: Sequence[tuple[int, int, str]]


def main() -> None:
    """Prints the scores."""
    options = arguments()
    samples = read_samples(options.corpora / "sanitization" / "presidio-research" / "synth_dataset_v2.json")
    if options.half is not None:
        samples = samples[options.half :: 2]
    plain = Detector(Policy())
    scores: dict[str, Any] = {"goals": GOALS, "presidio-research": {"rules": score(samples, finder(plain))}}
    if options.misses:
        for line in misses(samples, finder(plain), options.misses):
            print(line, file=sys.stderr)
    for name in options.ner:
        with_model = finder(Detector(Policy(), [load_recogniser(name)]))
        scores["presidio-research"][f"rules and {name}"] = score(samples, with_model)
    scores["gitleaks"] = secrets(plain, options.gitleaks_source, options.corpora)
    texts = list(mixed(random.Random(7), 4_000_000))
    scores["speed, MB/s"] = {"rules": speed(texts, finder(plain))}
    if options.presidio:
        label, find = presidio(options.model)
        scores["presidio-research"][label] = score(samples, find)
        some = texts[:: max(1, len(texts) // 60)]
        theirs, ours = speed(some, find), speed(some, finder(plain))
        scores["speed, MB/s"] |= {label: theirs, "times faster, same texts": round(ours / theirs)}
    print(json.dumps(scores, indent=2))


def arguments() -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=BESIDE)
    parser.add_argument("--gitleaks-source", type=Path)
    parser.add_argument("--ner", action="append", default=[])
    parser.add_argument("--presidio", action="store_true")
    parser.add_argument("--model", default="", help="the spaCy model for presidio (default: en_core_web_lg or _sm)")
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--misses", default="", help="print to stderr what of this type is missed, or 'wrong'")
    options = parser.parse_args()
    if not options.corpora.is_dir():
        sys.exit(f"no corpora at {options.corpora}")
    return options


def read_samples(path: Path) -> list[Sample]:
    """The texts of presidio-research."""
    return [
        Sample(
            body["full_text"],
            [(span["start_position"], span["end_position"], span["entity_type"]) for span in body["spans"]],
        )
        for body in json.loads(path.read_text("utf-8"))
    ]


def finder(detector: Detector) -> Find:
    """Our detectors."""
    return lambda text: [(span.start, span.end, span.claim.kind) for span in detector.spans(text)]


def presidio(wanted: str) -> tuple[str, Find]:
    """Presidio's analyzer, with what it is made of."""
    import spacy
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    model = next(
        (name for name in (wanted, "en_core_web_lg", "en_core_web_sm") if name and spacy.util.is_package(name)), None
    )
    if model is None:
        from presidio_analyzer.nlp_engine import SpacyNlpEngine

        engine: Any = SpacyNlpEngine()
        engine.nlp = {"en": spacy.blank("en")}
        label = "presidio, patterns only"
    else:
        settings = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
        engine, label = NlpEngineProvider(nlp_configuration=settings).create_engine(), f"presidio with {model}"
    analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return label, lambda text: [
        (result.start, result.end, result.entity_type)
        for result in analyzer.analyze(text, language="en", entities=PRESIDIO)
    ]


def score(samples: Sequence[Sample], find: Find) -> dict[str, Any]:
    """Recall by type, precision over all spans."""
    gold: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for sample in samples:
        found = find(sample.text)
        for start, end, kind in sample.gold:
            gold[kind] += 1
            hit[kind] += covered(sample.text, start, end, found)
        for start, end, kind in found:
            touched = {name for left, right_end, name in sample.gold if left < end and start < right_end}
            if touched & OURS.keys():
                right[kind] += 1
            elif not touched:
                wrong[kind] += 1
    total = sum(right.values())
    return {
        "recall": {kind: f"{hit[kind]}/{gold[kind]} = {hit[kind] / gold[kind]:.3f}" for kind in OURS if gold[kind]},
        "precision": round(total / max(1, total + sum(wrong.values())), 3),
        "precision by kind": {
            kind: round(right[kind] / (right[kind] + wrong[kind]), 3) for kind in sorted(right | wrong)
        },
    }


def covered(text: str, start: int, end: int, found: Found) -> bool:
    """Whether all letters and digits of a part of a text are in something that was found."""
    return all(any(left <= at < right for left, right, _ in found) for at in range(start, end) if text[at].isalnum())


def misses(samples: Sequence[Sample], find: Find, kind: str) -> Iterator[str]:
    """What is missed of a type, or everything that is wrongly taken, in its surroundings."""
    for sample in samples:
        found = find(sample.text)
        if kind == "wrong":
            for start, end, name in found:
                if not any(left < end and start < right for left, right, _ in sample.gold):
                    yield f"{name}: {sample.text[max(0, start - 30) : end + 15]!r} {sample.text[start:end]!r}"
        for start, end, name in sample.gold:
            if name == kind and not covered(sample.text, start, end, found):
                yield f"{sample.text[max(0, start - 30) : end + 15]!r} {sample.text[start:end]!r}"


def secrets(detector: Detector, source: Path | None, corpora: Path) -> dict[str, Any]:
    """How many of gitleaks' positives are found, and how many negatives are taken for a secret."""
    rules = corpora / "sanitization" / "gitleaks" / "gitleaks.toml"
    made = list(made_from(rules.read_text("utf-8"), random.Random(5)))
    found: dict[str, Any] = {"made from the rules": share(made, detector)}
    if source is not None:
        revision = subprocess.run(
            ["git", "-C", source, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        positives, negatives = literals(source)
        found |= {
            "source": revision.stdout.strip(),
            "literal positives found": share(positives, detector),
            "literal negatives taken": share(negatives, detector),
            "without those that are positives, too": share(only_negative(positives, negatives), detector),
            "of those that gitleaks' rules together leave alone": share(left_alone(negatives), detector),
            "the others, by the rule of gitleaks that takes them": dict(taken_by(negatives).most_common()),
        }
    return found


def only_negative(positives: Sequence[tuple[str, str]], negatives: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The negatives without texts that are secrets elsewhere: under another file's name, or to another rule."""
    secret = {text for _, text in positives}
    return [(name, text) for name, text in negatives if text not in secret]


def left_alone(negatives: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The negatives of one rule that no other rule of gitleaks takes for a secret either."""
    return [(name, text) for name, text in negatives if gitleaks_rule(text) is None]


def taken_by(negatives: Sequence[tuple[str, str]]) -> Counter[str]:
    """The negatives of one rule that another one of gitleaks takes for a secret, by that one."""
    return Counter(rule for _, text in negatives if (rule := gitleaks_rule(text)) is not None)


def gitleaks_rule(text: str) -> str | None:
    """The first of gitleaks' rules that finds a secret in a text."""
    rules = gitleaks_rules()
    keywords = keywords_of(rules.keywords, rules.shortest)
    return next((span.rule for span in rules.find(text.encode(), keywords.met(text.lower().encode()))), None)


def share(texts: Sequence[tuple[str, str]], detector: Detector) -> str:
    """In how many of the texts a secret is found."""
    found = sum(any(claim.kind == "secret" for claim in detector.in_text(text)) for _, text in texts)
    return f"{found}/{len(texts)} = {found / max(1, len(texts)):.3f}"


def speed(texts: Iterable[str], find: Find) -> float:
    """Megabytes of UTF-8 a second of processor time."""
    texts = list(texts)
    find(texts[0])
    start = time.process_time()
    for text in texts:
        find(text)
    spent = time.process_time() - start
    return round(sum(len(text.encode()) for text in texts) / 1e6 / spent, 3)


def mixed(draw: random.Random, size: int) -> Iterator[str]:
    """Texts as traces have them, `size` bytes in all: two thirds with Chinese, about a kilobyte each."""
    done = 0
    while done < size:
        text = draw.choice(KINDS)(draw)
        done += len(text.encode())
        yield text


def chat(draw: random.Random) -> str:
    """English talk, with a phone number now and then."""
    words = [draw.choice(ENGLISH) for _ in range(draw.randrange(40, 200))]
    if draw.random() < 0.3:
        words[5] = f"{draw.randrange(200, 999)}-{draw.randrange(200, 999)}-{draw.randrange(1000, 9999)}"
    return " ".join(words)


def talk(draw: random.Random) -> str:
    """Chinese talk, with a mobile number now and then."""
    parts = [draw.choice(CHINESE) for _ in range(draw.randrange(20, 80))]
    if draw.random() < 0.3:
        parts[3] = f"手机1{draw.randrange(30, 99)}{draw.randrange(10**7, 10**8)}联系"
    return "".join(parts)


def record(draw: random.Random) -> str:
    """A tool's result."""
    rows = [
        {
            "order_id": f"#W{draw.randrange(10**7)}",
            "状态": draw.choice(CHINESE),
            "price": draw.randrange(10**5) / 100,
            "updated_at": f"2024-0{draw.randrange(1, 9)}-1{draw.randrange(9)}T10:{draw.randrange(10, 59)}:00Z",
            "sha": draw.randbytes(20).hex(),
            "note": draw.choice(ENGLISH),
        }
        for _ in range(draw.randrange(2, 10))
    ]
    return json.dumps({"rows": rows}, ensure_ascii=draw.random() < 0.3)


def code(draw: random.Random) -> str:
    """A command and its log."""
    lines = [
        f"{draw.randrange(10**6)}.{draw.randrange(999)} INFO worker-{draw.randrange(9)} "
        f"GET /api/v1/items/{draw.randrange(10**6)} 200"
        for _ in range(draw.randrange(3, 15))
    ]
    return f"curl -s -X POST https://svc.local/run -d '{draw.choice(CHINESE)}'\n" + "\n".join(lines)


def blob(draw: random.Random) -> str:
    """A picture."""
    return f"{draw.choice(CHINESE)} data:image/png;base64,{base64.b64encode(draw.randbytes(900)).decode()}"


KINDS = (chat, talk, talk, record, record, code, blob)
ENGLISH = re.findall(
    r"\w+",
    "the order was shipped yesterday and your refund will arrive within five business days please let me know if there "
    "is anything else that I can help you with today The agent called a tool with these arguments and got an error "
    "because the flight from Denver to Boston has no seats left in economy Thanks for waiting We offer another one",
)
CHINESE = (
    "您的订单已经发货，", "请问还有什么可以帮您？", "系统返回了一个错误，", "我们将在三个工作日内处理退款。",
    "航班已取消，", "北京到上海的机票", "请稍等，", "工具调用成功", "参数不正确，", "库存不足，无法下单。",
    "感谢您的耐心等待！", "用户选择了第二个方案",
)  # fmt: skip

if __name__ == "__main__":
    main()
