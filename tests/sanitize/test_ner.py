"""Recognisers: what a model finds is claimed like everything else; without its package or model it refuses."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from evalkit.errors import ConfigError
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.ner import Recognised, load_recogniser
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.surrogate import Draw


class Fake:
    """Takes every occurrence of one text for a name."""

    name = "fake"

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    def find(self, text: str) -> Iterator[Recognised]:
        """Where the text stands."""
        at = text.find(self.wanted)
        if at >= 0:
            yield Recognised(at, at + len(self.wanted), "name")


def test_what_a_model_finds_is_claimed_and_marked_as_a_guess() -> None:
    """The span is the model's, without signs around it, and a person is to look at it."""
    [span] = Detector(Policy(), [Fake(" 王小明,")]).spans("昨天 王小明, Mia 来过")
    assert (span.claim.kind, span.claim.text, span.rule, span.sure) == ("name", "王小明", "fake", False)


@pytest.mark.parametrize("nonsense", ["Friday", "The Customer", Draw(b"k" * 32).word(), "get_user"])
def test_what_cannot_be_a_name_is_not_believed(nonsense: str) -> None:
    """Common words, surrogates and identifiers stay, whatever a model says."""
    assert Detector(Policy(), [Fake(nonsense)]).spans(f"on {nonsense} again") == []


def test_a_kind_that_is_kept_is_not_looked_for() -> None:
    """The policy's actions hold for models too."""
    assert Detector(Policy(actions={"name": "keep"}), [Fake("Mia Li")]).spans("Mia Li") == []


def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """No download, no silent fallback."""

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    for name in ("spacy", "presidio", "jieba"):
        with pytest.raises(ConfigError, match=rf'pip install "evalkit\[ner-{name}\]"'):
            load_recogniser(name)


def test_a_missing_model_is_named() -> None:
    """The package alone does not do: its model is never downloaded behind the user's back."""
    pytest.importorskip("spacy", reason="the extra ner-spacy is not installed")
    with pytest.raises(ConfigError, match="no_such_model is not installed"):
        load_recogniser("spacy:no_such_model")


def test_an_unknown_recogniser_is_refused() -> None:
    """With the names of those that there are."""
    with pytest.raises(ConfigError, match="use spacy, presidio, jieba"):
        load_recogniser("gliner")


def test_jieba_finds_chinese_names() -> None:
    """Names without any title or label around them."""
    pytest.importorskip("jieba", reason="the extra ner-jieba is not installed")
    spans = Detector(Policy(), [load_recogniser("jieba")]).spans("昨天李明华去了上海")
    assert [span.claim.text for span in spans] == ["李明华"]
