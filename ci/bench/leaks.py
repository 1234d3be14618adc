"""Whether planted personal values and secrets are found in case files, and what of tau-bench's true ones is left.

Seeded: `--count` values of many kinds, each written in one of many disguises (escaped, encoded, nested, in keys, in
URLs, in Chinese text, ...), at random places of traces; every trace is ingested into a case file as a user does it.
A decoder of this script's own, that shares nothing with evalkit, then takes apart what was written and looks for the
values:
``leaked`` (0 is wanted), ``refused`` (no file was written), ``clean``. Half of the values stand once more in the open
under a telling key, as customer records have them; names and passwords always do.

    python ci/bench/leaks.py [--seed 7] [--count 1000]

`--tau`: of the true personal values of tau-bench's database that occur in a run, how many are left in its case file
(every run ingested for itself, and all of a domain as one batch), and how many recorded calls, made again with the raw
arguments, find their frozen answers. `--corpora FOLDER` says where the corpora are.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import html
import json
import os
import random
import re
import sys
import tempfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import pyarrow.parquet as pq
from corpora import BESIDE

from evalkit.app.ingest import ingest_trace
from evalkit.app.settings import Settings
from evalkit.errors import EvalkitError, SanitizationFailed
from evalkit.trace.model import Step, StepError, Trace

PER_TRACE = 5
FAMILY_ZH, GIVEN_ZH = "欧阳司马诸葛赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨", "梓涵浩宇欣怡子轩雨泽思远嘉懿煜城"
SYLLABLES = "ka ro mi ve lu tan der sol fin gar bel nor wis".split()
REGIONS, BASE32 = ("310101", "440305", "110108"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
Disguise = Callable[[str, random.Random], str]


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--tau", action="store_true")
    parser.add_argument("--corpora", type=Path, default=BESIDE)
    asked = parser.parse_args()
    if asked.tau:
        from leaks_tau import tau  # beside this script

        print(json.dumps(tau(asked.corpora / "tau-bench"), indent=2, ensure_ascii=False))
        return
    found = seeded(asked.seed, asked.count)
    print(json.dumps(found, indent=2, ensure_ascii=False))
    sys.exit(1 if found["leaked"] else 0)


def seeded(seed: int, count: int) -> dict[str, Any]:
    """Plants, ingests, decodes, counts."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    leaks: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("EVALKIT_PSEUDONYM_KEY", None)
        settings = Settings(root=Path(folder), cases=Path(folder) / "cases", pseudonym_key="5eed" * 16)
        for number in range(-(-count // PER_TRACE)):
            planted = [plant(rng) for _ in range(min(PER_TRACE, count - number * PER_TRACE))]
            trace = trace_with(planted, rng, number)
            try:
                done = ingest_trace(
                    trace,
                    settings,
                    expect={"state": "never"},
                    new=True,
                    title=f"about {planted[0][1]}",
                    case_id=f"c{number}",
                )
            except SanitizationFailed as error:
                counts["refused"] += len(planted)
                refusals[error.what] += len(planted)
                if os.environ.get("SHOW"):
                    print(error.where, [(k, v, d) for k, v, d, _ in planted], file=sys.stderr)
                continue
            assert done.path is not None
            views = list(decoded(b"\n".join(written(done.path.parent))))
            for kind, value, disguise, _ in planted:
                left = any(holds(view, value) for view in views)
                counts["leaked" if left else "clean"] += 1
                if left:
                    leaks[f"{kind}, {disguise}"] += 1
    return {
        "seed": seed,
        "values": count,
        "leaked": counts["leaked"],
        "refused": counts["refused"],
        "clean": counts["clean"],
        "leaks": dict(leaks.most_common()),
        "refusals": dict(refusals.most_common()),
    }


def digits(rng: random.Random, count: int) -> str:
    """That many."""
    return "".join(rng.choice("0123456789") for _ in range(count))


def letters(
    rng: random.Random, count: int, alphabet: str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
) -> str:
    """That many."""
    return "".join(rng.choice(alphabet) for _ in range(count))


def word(rng: random.Random) -> str:
    """A made-up name."""
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 3)))).title()


def luhn(stem: str) -> str:
    """`stem` and its check digit."""
    total = sum(sum(divmod(int(d) * (2 - at % 2), 10)) for at, d in enumerate(reversed(stem)))
    return stem + str(-total % 10)


def iban(rng: random.Random) -> str:
    """A German account number with right check digits."""
    account = digits(rng, 18)
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


VALUES: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "email": ("email", lambda r: f"{word(r).lower()}.{word(r).lower()}{r.randrange(99)}@{word(r).lower()}.com"),
    "cn_mobile": ("手机号", lambda r: "1" + r.choice("358") + r.choice("0123") + digits(r, 8)),
    "nanp": ("phone", lambda r: f"({r.choice('2345')}{r.choice('0123')}7) {r.randrange(200, 999)}-{digits(r, 4)}"),
    "card": ("card_number", lambda r: luhn("4" + digits(r, 14))),
    "iban": ("iban", iban),
    "ssn": ("ssn", lambda r: f"{r.randrange(100, 665)}-{r.randrange(10, 99)}-{r.randrange(1000, 9999)}"),
    "cn_id": ("身份证", lambda r: f"{r.choice(REGIONS)}19{r.randrange(60, 99)}0{r.randrange(1, 9)}1{digits(r, 4)}X"),
    "api_key": ("api_key", lambda r: r.choice((f"ghp_{letters(r, 36)}", f"AKIA{letters(r, 16, BASE32)}"))),
    "name_en": ("full_name", lambda r: f"{word(r)} {word(r)}"),
    "name_zh": ("姓名", lambda r: r.choice(FAMILY_ZH) + r.choice(GIVEN_ZH) + r.choice(GIVEN_ZH)),
    "password": ("password", lambda r: f"{word(r)}-{digits(r, 4)}!{word(r)}"),
    "address": ("address1", lambda r: f"{r.randrange(1000, 9999)} {word(r)} {word(r)} Lane"),
    "user_id": ("user_id", lambda r: f"{word(r).lower()}_{word(r).lower()}_{digits(r, 4)}"),
}  # fmt: skip
ALWAYS_KEYED = frozenset({"name_en", "name_zh", "password", "address", "user_id"})


def b64(data: bytes) -> str:
    """Base64 text."""
    return base64.b64encode(data).decode()


def escaped(value: str) -> str:
    """Every character as a JSON escape."""
    return "".join(f"\\u{ord(char):04x}" for char in value)


def fullwidth(value: str) -> str:
    """ASCII as full-width forms."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in value)


DISGUISES: dict[str, Disguise] = {
    "raw": lambda v, r: f"please see {v} again",
    "raw, Chinese text": lambda v, r: f"客户的资料是{v}，请尽快处理",
    "raw, in quotes": lambda v, r: f'lookup("{v}") -> none',
    "upper": lambda v, r: f"RE: {v.upper()} - URGENT",
    "lower": lambda v, r: f"re: {v.lower()} - urgent",
    "JSON in a string": lambda v, r: json.dumps({"note": f"about {v}", "n": 1}, ensure_ascii=r.random() < 0.5),
    "JSON three deep": lambda v, r: json.dumps({"a": json.dumps({"b": json.dumps([f"see {v}"])})}),
    "JSON in prose": lambda v, r: f"the tool said {json.dumps({'note': v})} and left",
    "JSON in JSON in prose": lambda v, r: f"log: {json.dumps(json.dumps({'note': v}))} end",
    "JSON escapes": lambda v, r: f"got \\u0022{escaped(v)}\\u0022 back",
    "URL query": lambda v, r: f"GET https://api.shop.io/find?q={quote(v, safe='')}&page=2",
    "URL query, plus": lambda v, r: f"GET https://api.shop.io/find?q={quote_plus(v)}&page=2",
    "URL path": lambda v, r: f"https://api.shop.io/users/{quote(v, safe='')}/orders",
    "URL fragment": lambda v, r: f"https://shop.io/#/who={quote(v, safe='')}",
    "URL twice": lambda v, r: f"https://shop.io/?next={quote('https://x.io/?u=' + quote(v, safe=''), safe='')}",
    "every character percent-encoded": lambda v, r: "q=" + "".join(f"%{byte:02X}" for byte in v.encode()) + "&x=1",
    "HTML entities": lambda v, r: f"<td>{html.escape(v)}</td>",
    "HTML numeric": lambda v, r: "<b>" + "".join(f"&#{ord(char)};" for char in v) + "</b>",
    "HTML hex": lambda v, r: "<b>" + "".join(f"&#x{ord(char):X};" for char in v) + "</b>",
    "base64": lambda v, r: b64(f"{'x' * r.randrange(3)} {v} and so on".encode()),
    "base64url": lambda v, r: base64.urlsafe_b64encode(f"~~~{v}???".encode()).decode().rstrip("="),
    "base64 in text": lambda v, r: f"payload={b64(f'user: {v}'.encode())}; ok",
    "base64 in base64": lambda v, r: b64(b64(f"deep {v} deep".encode()).encode()),
    "base64 of JSON": lambda v, r: b64(json.dumps({"who": v}).encode()),
    "base64, lines": lambda v, r: base64.encodebytes((f"intro {v} " * 4).encode()).decode(),
    "data URL": lambda v, r: f"data:text/plain;base64,{b64(f'hello {v}'.encode())}",
    "data URL, percent": lambda v, r: f"data:text/plain,{quote(f'hello {v}')}",
    "hex": lambda v, r: f"0x{f'user {v}'.encode().hex()}",
    "HEX": lambda v, r: f"user {v}".encode().hex().upper(),
    "UTF-16 in base64": lambda v, r: b64(f"echo {v}".encode("utf-16-le")),
    "gzip in base64": lambda v, r: b64(gzip.compress(f"line one\n{v}\n".encode())),
    "zlib in base64": lambda v, r: b64(zlib.compress(f"line one\n{v}\n".encode())),
    "zip in base64": lambda v, r: b64(zipped(f"line one\n{v}\n")),
    "full-width": lambda v, r: f"号码{fullwidth(v)}。",
    "zero-width between": lambda v, r: "see " + "\u200b".join(v) + " now",
    "log line": lambda v, r: f"2026-11-29T10:00:01Z INFO who={v} status=200",
    "header": lambda v, r: f"X-Customer: {v}\r\nAccept: */*",
    "stack text": lambda v, r: f'  File "app.py", line 3, in get\nKeyError: \'{v}\'',
    "CSV": lambda v, r: f"id,who,n\n1,{v},3\n",
    "SQL": lambda v, r: f"SELECT * FROM t WHERE who = '{v}' LIMIT 1",
    "Markdown": lambda v, r: f"- **Who**: {v}\n- `{v}`",
    "curl": lambda v, r: f"curl -d '{json.dumps({'who': v})}' https://x.io",
    "key": lambda v, r: v,  # see trace_with
}  # fmt: skip
DIGIT_KINDS = frozenset({"cn_mobile", "card"})


def zipped(text: str) -> bytes:
    """A zip with one file."""
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", text)
    return sink.getvalue()


def plant(rng: random.Random) -> tuple[str, str, str, str]:
    """Kind, value, name of the disguise, disguised text."""
    kind = rng.choice(list(VALUES))
    value = VALUES[kind][1](rng)
    names = [*DISGUISES, *(["spaced digits", "hyphened digits"] if kind in DIGIT_KINDS else [])]
    name = rng.choice(names)
    if name.endswith("digits"):
        return kind, value, name, f"number {(' ' if name.startswith('spaced') else '-').join(value)} ok"
    return kind, value, name, DISGUISES[name](value, rng)


def trace_with(planted: list[tuple[str, str, str, str]], rng: random.Random, number: int) -> Trace:
    """A run of a shop's agent that has the disguised values at random places."""
    record: dict[str, Any] = {"order": f"#W{rng.randrange(10**6)}", "items": [{"sku": letters(rng, 8), "n": 2}]}
    for kind, value, disguise, _ in planted:
        if kind in ALWAYS_KEYED or (kind == "api_key" and disguise in ("upper", "lower")) or rng.random() < 0.5:
            record.setdefault("customers", []).append({VALUES[kind][0]: value, "tier": "gold"})
    places: dict[str, list[Any]] = {name: [] for name in ("prompt", "args", "result", "attr", "said")}
    message, stack, trace_id, gap = "timed out", "Traceback", f"run-{number}", ""
    for _, _, disguise, text in planted:
        part: Any = {text: {"seen": True}} if disguise == "key" else text
        place = rng.choice([*places, "error", "stack", "id", "gap"])
        if place in places or disguise == "key":
            places[place if place in places else "result"].append(part)
        elif place == "error":
            message += f" {text}"
        elif place == "stack":
            stack += f"\n{text}"
        elif place == "id":
            trace_id += f":{text}"
        else:
            gap += f" {text}"
    prompt: Any = str(places["prompt"]) if rng.random() < 0.5 else places["prompt"]
    steps = (
        Step(0, "model", "m-1", {"messages": [{"role": "user", "content": prompt}]},
             {"role": "assistant", "content": places["said"]}, attributes={"tags": places["attr"]}),
        Step(1, "tool", "get_order", {"order": record["order"], "notes": places["args"]},
             {"record": record, "more": places["result"]}),
        Step(2, "tool", "refund", {"order": record["order"]}, None, error=StepError("Timeout", message, stack=stack)),
    )  # fmt: skip
    gaps = (gap,) if gap else ()
    return Trace(trace_id, "shop", "evalkit", steps, input={"ask": "refund"}, output={"state": "open"}, gaps=gaps)


def written(folder: Path) -> Iterator[bytes]:
    """What the files of a case hold, as texts: columns and metadata unpacked."""
    for path in sorted(folder.iterdir()):
        yield path.name.encode()
        if path.suffix != ".parquet":
            yield path.read_bytes()
            continue
        table = pq.read_table(path)
        yield from (table.schema.metadata or {}).values()
        for column in table.columns:
            yield from (str(value).encode("utf-8", "replace") for value in column.to_pylist() if value is not None)


def decoded(data: bytes, depth: int = 0) -> Iterator[str]:
    """The text of some bytes, and everything that can be unpacked from it."""
    text = data.decode("utf-8", "replace")
    seen: set[str] = set()
    waiting = [(text, depth)]
    while waiting:
        view, level = waiting.pop()
        if view in seen or level > 7:
            continue
        seen.add(view)
        yield view
        waiting += [(other, level + 1) for other in unpacked(view) if other != view]


def unpacked(view: str) -> Iterator[str]:
    """One level less of every encoding."""
    if "\\" in view:
        yield re.sub(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))', unescape, view)
    if "%" in view:
        yield unquote(view)
        yield unquote_plus(view)
    if "&" in view:
        yield html.unescape(view)
    folded = "".join(c for c in unicodedata.normalize("NFKC", view) if unicodedata.category(c) != "Cf" and c != "\0")
    yield folded
    for run in re.findall(r"(?:[A-Za-z0-9+/_-]{60,}\s+)+[A-Za-z0-9+/_-]*|[A-Za-z0-9+/_-]{12,}", view):
        compact = re.sub(r"\s", "", run).replace("-", "+").replace("_", "/")
        for offset in range(4):
            yield from bytes_unpacked(base64.b64decode(compact[offset:][: (len(compact) - offset) // 4 * 4]))
        yield from bytes_unpacked(
            base64.b64decode(compact + "=" * (-len(compact) % 4)) if len(compact) % 4 != 1 else b""
        )
    for run in re.findall(r"(?:[0-9a-fA-F]{2}){5,}", view):
        yield from bytes_unpacked(bytes.fromhex(run))


def unescape(match: re.Match[str]) -> str:
    """A JSON escape's character."""
    if match[1]:
        return chr(int(match[1], 16))
    return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(match[2], match[2])


def bytes_unpacked(data: bytes) -> Iterator[str]:
    """Texts that bytes may be."""
    for form in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            data_out = zlib.decompressobj(form).decompress(data, 1_000_000)
            if len(data_out) > 8:
                yield data_out.decode("utf-8", "replace")
        except zlib.error:
            pass
    if data[:2] == b"PK":
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                yield from (archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
        except (zipfile.BadZipFile, ValueError):
            pass
    plain = data.decode("utf-8", "ignore")
    if sum(char.isprintable() for char in plain) > 0.6 * len(data) // 2:
        yield plain
    yield data.decode("utf-16-le", "ignore") if b"\0" in data else ""


def holds(view: str, value: str) -> bool:
    """Whether the value stands in the view, in any case, also with its digits spread."""
    low, wanted = view.casefold(), value.casefold()
    if wanted in low:
        return True
    return value.isdigit() and re.search("[ -]?".join(value), low) is not None


if __name__ == "__main__":
    try:
        main()
    except EvalkitError as error:
        sys.exit(f"{error.what}: {error.where}: {error.cure}")
