"""Names and places found by a model: optional, on top of the rules.

A recogniser is anything with a name and a `find`. Three come ready: ``spacy`` and ``presidio`` for English (their model
has to be installed too; ``spacy:NAME`` names one) and ``jieba`` for Chinese names (its dictionary comes with it).
Nothing is ever downloaded; the default needs none of them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from evalkit.errors import ConfigError
from evalkit.sanitize.claim import Claim
from evalkit.sanitize.forms import by_hint
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.ranges import is_name_surrogate
from evalkit.sanitize.rules.said_names import SURNAMES
from evalkit.sanitize.rules.words import COMMON, NO_NAMES
from evalkit.sanitize.rules.words_zh import USUAL_WORDS

__all__ = ["RECOGNISERS", "Recognised", "Recogniser", "load_recogniser", "recognised"]

_SPACY_MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
_MAX_TEXT = 100_000
_FAMILY = re.compile(SURNAMES)


class Recognised(NamedTuple):
    """A part of a text that is of a kind: characters from `start` up to `end`."""

    start: int
    end: int
    kind: Kind


class Recogniser(Protocol):
    """Finds values in a text by other means than rules.

    Attributes:
        name: for counts and reports.
    """

    name: str

    def find(self, text: str) -> Iterable[Recognised]:
        """What it finds in `text`. It is never sure: its finds are listed for a person."""


def recognised(recogniser: Recogniser, text: str) -> Iterator[tuple[int, int, Claim]]:
    """The claims for what `recogniser` finds in `text`: as strict as for a value under a key of that kind."""
    for start, end, kind in recogniser.find(text):
        value = text[start:end].partition("\n")[0]
        shorn = value.strip(" \n\t.,;:\"'()")
        start += value.find(shorn)
        words = shorn.lower().split()
        if kind == "name" and not _may_name(words):
            continue
        claim = by_hint(kind, shorn)
        if claim is not None and claim.text == shorn:
            yield start, start + len(shorn), claim


def _may_name(words: list[str]) -> bool:
    """Whether words can be a name: not all of them common ones, and none a surrogate's."""
    if any(is_name_surrogate(word) for word in words):
        return False
    return not all(word in NO_NAMES or word in COMMON or word in USUAL_WORDS for word in words)


class _Spacy:
    """The ``PERSON`` entities of a spaCy pipeline."""

    name = "spacy"

    def __init__(self, model: str = "") -> None:
        spacy, found = _spacy_model(model, "ner-spacy")
        self._pipeline: Any = spacy.load(found, exclude=["parser", "lemmatizer", "attribute_ruler", "tagger"])

    def find(self, text: str) -> Iterator[Recognised]:
        """The persons."""
        if len(text) <= _MAX_TEXT:
            for entity in self._pipeline(text).ents:
                if entity.label_ == "PERSON":
                    yield Recognised(entity.start_char, entity.end_char, "name")


class _Presidio:
    """The ``PERSON`` entities of presidio's analyzer with its spaCy engine."""

    name = "presidio"

    def __init__(self, model: str = "") -> None:
        analyzer = _module("presidio_analyzer", "ner-presidio")
        provider = _module("presidio_analyzer.nlp_engine", "ner-presidio").NlpEngineProvider
        _, found = _spacy_model(model, "ner-presidio")  # first: presidio would try to download one
        settings = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": found}]}
        self._engine: Any = analyzer.AnalyzerEngine(nlp_engine=provider(nlp_configuration=settings).create_engine())

    def find(self, text: str) -> Iterator[Recognised]:
        """The persons."""
        if len(text) <= _MAX_TEXT:
            for result in self._engine.analyze(text, language="en", entities=["PERSON"]):
                yield Recognised(result.start, result.end, "name")


class _Jieba:
    """The words that jieba's tagger takes for Chinese names (``nr``, ``nrfg``)."""

    name = "jieba"

    def __init__(self, model: str = "") -> None:
        _module("jieba", "ner-jieba").setLogLevel(60)  # it talks to stderr while it loads
        self._tagger: Any = _module("jieba.posseg", "ner-jieba")

    def find(self, text: str) -> Iterator[Recognised]:
        """The names of two characters or more."""
        if text.isascii() or len(text) > _MAX_TEXT:
            return
        at = 0
        for pair in self._tagger.cut(text):
            telling = len(pair.word) > 2 or _FAMILY.match(pair.word) is not None  # other short ones are mostly words
            if pair.flag in ("nr", "nrfg", "nrt") and telling and 2 <= len(pair.word) <= 12:
                yield Recognised(at, at + len(pair.word), "name")
            at += len(pair.word)


RECOGNISERS: dict[str, Callable[[str], Recogniser]] = {"spacy": _Spacy, "presidio": _Presidio, "jieba": _Jieba}
"""The ready ones by the name that a policy uses."""


def load_recogniser(name: str) -> Recogniser:
    """The recogniser that a policy names: ``spacy``, ``presidio``, ``jieba``; the first two also with ``:MODEL``.

    Raises:
        ConfigError: no such one, its package is not installed, or its model isn't.
    """
    kind, _, model = name.partition(":")
    if kind not in RECOGNISERS:
        raise ConfigError(f"no recogniser {name!r}", "sanitization rules, ner", f"use {', '.join(RECOGNISERS)}")
    return RECOGNISERS[kind](model)


def _spacy_model(wanted: str, extra: str) -> tuple[Any, str]:
    """spaCy, and the name of an installed model: the wanted one, else the largest of the usual ones."""
    spacy = _module("spacy", extra)
    names = (wanted,) if wanted else _SPACY_MODELS
    found = next((name for name in names if spacy.util.is_package(name)), None)
    if found is None:
        raise ConfigError(
            f"the spaCy model {' or '.join(names)} is not installed",
            "sanitization rules, ner",
            "install its wheel from where you trust it (python -m spacy download en_core_web_sm)",
        )
    return spacy, found


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigError(
            f"the recogniser needs the package {name.partition('.')[0]}, which is not installed",
            "sanitization rules, ner",
            f'pip install "evalkit[{extra}]"',
        ) from None
