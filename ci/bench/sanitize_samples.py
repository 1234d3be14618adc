"""Texts that gitleaks' rules must find, or must not: made from the rules' patterns, or read from their Go source."""

from __future__ import annotations

import random
import re
import subprocess
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]  # the only parser of patterns at hand
from typing import Any

__all__ = ["literals", "made_from", "parsed"]

_TRIES = 400
_FOLDER = "cmd/generate/config/rules"


def made_from(toml: str, draw: random.Random, each: int = 3) -> Iterator[tuple[str, str]]:
    """Rule and text: texts that a rule's own pattern matches with entropy enough, `each` a rule that has a pattern."""
    import re2

    from evalkit.sanitize.secrets import entropy

    for rule in tomllib.loads(toml)["rules"]:
        if "regex" not in rule:
            continue
        pattern, compiled = parsed(rule["regex"]), re2.compile(rule["regex"])
        made = 0
        for _ in range(_TRIES):
            text = "".join(_spelled(pattern, draw))
            match = compiled.search(text)
            if match is None or not any(word in text.lower() for word in rule.get("keywords", [""])):
                continue
            groups = [group for group in match.groups() if group]
            if entropy(groups[0] if groups else match[0]) > rule.get("entropy", 0) + 0.05:
                yield rule["id"], text
                made += 1
                if made == each:
                    break


def parsed(pattern: str) -> Any:
    """The tree of a Go pattern: flags in its middle made groups of, RE2's own spellings changed."""
    pattern = re.sub(r"\(\?P?<\w+>", "(", pattern).replace(r"\z", r"\Z").replace("[[:alnum:]]", "[0-9A-Za-z]")
    at = pattern.find("(?i)", 1)
    while at > 0:
        end = _closing(pattern, at)
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
        at = pattern.find("(?i)", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(pattern)


def _closing(pattern: str, at: int) -> int:
    """Where the group that `at` lies in ends."""
    depth, inside, index = 0, False, at + 4
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            index += 1
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
        elif char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                return index
            depth -= 1
        index += 1
    return len(pattern)


def _spelled(tree: Any, draw: random.Random) -> Iterator[str]:
    """One text that a parsed pattern matches, as far as boundaries allow."""
    for operation, argument in tree:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "NOT_LITERAL":
            yield "a" if argument != ord("a") else "b"
        elif name == "ANY":
            yield draw.choice("abcdefgh01234")
        elif name == "IN":
            yield draw.choice(_members(argument))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = argument
            for _ in range(draw.randint(low, min(int(high), max(low, low + 3)))):
                yield from _spelled(inner, draw)
        elif name == "SUBPATTERN":
            yield from _spelled(argument[3], draw)
        elif name == "BRANCH":
            yield from _spelled(draw.choice(argument[1]), draw)


def _members(items: Any) -> list[str]:
    """The printable characters of a class."""
    everything = [chr(code) for code in range(32, 127)]
    negated = str(items[0][0]) == "NEGATE"
    members: set[str] = set()
    for operation, argument in items[1:] if negated else items:
        name = str(operation)
        if name == "LITERAL":
            members.add(chr(argument))
        elif name == "RANGE":
            members.update(chr(code) for code in range(argument[0], argument[1] + 1))
        elif name == "CATEGORY":
            wanted = {"WORD": r"\w", "DIGIT": r"\d", "SPACE": " "}
            short = next(spelled for part, spelled in wanted.items() if part in str(argument))
            members.update(char for char in everything if re.match(short, char))
    chosen = [char for char in everything if (char in members) != negated]
    return chosen or sorted(members)


def literals(source: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """File and text of the positives and negatives that stand as literals in gitleaks' rule sources."""
    listed = _git(source, "ls-tree", "-r", "--name-only", "HEAD", _FOLDER).split()
    positives: list[tuple[str, str]] = []
    negatives: list[tuple[str, str]] = []
    for path in listed:
        if path.endswith(".go") and not path.endswith("_test.go"):
            text = _git(source, "show", f"HEAD:{path}")
            name = Path(path).stem
            positives += [(name, found) for found in _lists(text, "tps")]
            negatives += [(name, found) for found in _lists(text, "fps")]
    return positives, negatives


def _git(source: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", source, *words], capture_output=True, text=True, check=True).stdout


def _lists(text: str, name: str) -> Iterator[str]:
    """The elements of the lists called `name` that are one literal each; what is put together by code is left out."""
    for match in re.finditer(rf"\b{name} :?= (?:\[\]string\{{|append\({name},|map\[string\]string\{{)", text):
        yield from _elements(text, match.end(), keyed="map[" in match[0])


def _elements(text: str, at: int, *, keyed: bool) -> Iterator[str]:
    depth, parts, plain = 0, [], True
    while at < len(text):
        char = text[at]
        if text.startswith("//", at):
            at = text.find("\n", at)
            if at < 0:
                return
        elif char in '`"':
            end = text.find("`", at + 1) if char == "`" else _quoted_end(text, at)
            parts.append(text[at + 1 : end] if char == "`" else _unquoted(text[at + 1 : end]))
            at = end
        elif char in "([{":
            depth, plain = depth + 1, False
        elif char in ")]}":
            if depth == 0:
                if plain and len(parts) == 1 and parts[0]:
                    yield parts[0]
                return
            depth -= 1
        elif char == "," and depth == 0:
            if plain and len(parts) == (2 if keyed else 1) and parts[-1]:
                yield parts[-1]
            parts, plain = [], True
        elif not char.isspace() and not (keyed and char == ":"):
            plain = False
        at += 1


def _quoted_end(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def _unquoted(body: str) -> str:
    return body.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in body else body
