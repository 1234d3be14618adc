"""Makes `evalkit/sanitize/rules/gitleaks.json` from a pinned `gitleaks.toml`, and says what was left out.

    python ci/gitleaks_rules.py path/to/gitleaks.toml

Carried over: id, pattern, keywords, entropy, the group of the secret, and the allow lists over secrets, matches and
lines; beside them the length of the shortest text that the pattern can match. Left out: descriptions, and rules and
allow lists that look at nothing but paths (a trace has none). The data is gitleaks' (MIT, Copyright Zachary Rice); its
licence stands beside it in `gitleaks.LICENSE`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import re2
from bench.sanitize_samples import parsed

OUT = Path(__file__).resolve().parents[1] / "evalkit" / "sanitize" / "rules" / "gitleaks.json"


def main() -> None:
    """Writes the file."""
    source = Path(sys.argv[1]).read_bytes()
    body = tomllib.loads(source.decode())
    rules, skipped = [], []
    for rule in body["rules"]:
        if rule.get("regex"):
            rules.append(compact(rule))  # a path would only narrow the rule: a trace may quote any file
        else:
            skipped.append(rule["id"])
    data = {
        "source": "gitleaks.toml, gitleaks v8, MIT",
        "sha256": hashlib.sha256(source).hexdigest(),
        "allow": allowed([body["allowlist"]]),
        "rules": sorted(rules, key=lambda rule: str(rule["id"])),
    }
    lines = [
        "{",
        *(f"{json.dumps(key)}: {json.dumps(data[key], ensure_ascii=False)}," for key in ("source", "sha256", "allow")),
        '"rules": [',
        ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules),
        "]}",
    ]
    OUT.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(rules)} rules, {OUT.stat().st_size} bytes; without a pattern: {', '.join(skipped) or 'none'}")


def compact(rule: dict[str, Any]) -> dict[str, Any]:
    """One rule, what is needed of it."""
    re2.compile(rule["regex"])  # a pattern that RE2 refuses must be seen here, not by a user
    made = {"id": rule["id"], "regex": rule["regex"], "keywords": [word.lower() for word in rule.get("keywords", [])]}
    made["shortest"] = parsed(rule["regex"]).getwidth()[0]
    if rule.get("entropy"):
        made["entropy"] = rule["entropy"]
    if rule.get("secretGroup"):
        made["group"] = rule["secretGroup"]
    allow = allowed(rule.get("allowlists", []))
    return {**made, "allow": allow} if allow else made


def allowed(lists: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The allow lists that can be applied without a path."""
    made = []
    for given in lists:
        if given.get("condition") == "AND" and given.get("paths"):
            continue
        kept = {key: given[key] for key in ("regexTarget", "regexes", "stopwords") if given.get(key)}
        if kept.get("regexes") or kept.get("stopwords"):
            made.append(kept)
    return made


if __name__ == "__main__":
    main()
