"""How far the messages that evalkit reads from Langfuse exports equal Langfuse's own normalisation; prints JSON.

    python ci/bench/langfuse_chatml.py [CORPORA]        (default: ../shared/corpora beside the repository)

Beside each ``X.trace.json`` stands ``X.chatml.json``: by observation, for input and output, ``{"success", "data"}``
with a list of messages, or of one object with ``json`` where Langfuse kept the value as it is. Compared are roles,
texts, tool calls and their arguments; definitions of tools are left out. What Langfuse refused (``success``
false) has no messages to compare with. A side that differs is ``explained`` when it is equal but for the one thing
that the reason names: that is a choice of the normal form, checked value by value, and no loss.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from evalkit.trace.formats.langfuse_observation import decoded
from evalkit.trace.formats.loose_messages import answer_in, messages_in
from evalkit.trace.model import Step
from evalkit.trace.read import load_traces

_ELSE_EQUAL = "; all else is equal"
_ROLES = {"model": "assistant", "developer": "system", "human": "user", "ai": "assistant"}


def main(folder: Path) -> dict[str, Any]:
    """Counts over all sides (inputs and outputs), and each side that differs, with the reason."""
    counts: Counter[str] = Counter()
    differ: list[dict[str, str]] = []
    for path in sorted(folder.glob("*.trace.json")):
        wanted = json.loads(path.with_name(path.name.replace(".trace.", ".chatml.")).read_text("utf-8"))
        for trace in load_traces(path):
            steps = {step.attributes["span_id"]: step for step in trace.steps}
            for span_id, sides in wanted.items():
                for side, expected in sides.items():
                    verdict, reason = _compared(steps[span_id], side, expected)
                    counts[verdict] += 1
                    if verdict == "different":
                        where = f"{path.name} {span_id} {steps[span_id].name} {side}"
                        differ.append({"where": where, "why": reason})
    comparable = counts["equal"] + counts["different"]
    share = round(counts["equal"] / comparable, 4) if comparable else None
    explained = sum(each["why"].endswith(_ELSE_EQUAL) for each in differ)
    return {
        "equal": counts["equal"],
        "comparable": comparable,
        "share": share,
        "explained": explained,
        "unexplained": len(differ) - explained,
        **_rest(counts),
        "differ": differ,
    }


def _rest(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in ("equal", "different")}


def _compared(step: Step, side: str, expected: dict[str, Any]) -> tuple[str, str]:
    if not expected["success"]:
        return "refused_by_langfuse", ""
    data = expected["data"]
    given = step.input if side == "input" else step.output
    if not any("role" in item for item in data):
        return _compared_value(step, given, data)
    messages = _messages(step, side)
    if messages == [_plain(item) for item in data]:
        return "equal", ""
    return "different", _reason(step, messages, data)


def _compared_value(step: Step, given: Any, data: list[dict[str, Any]]) -> tuple[str, str]:
    """A side that Langfuse kept as a value: equal when the step holds it, too."""
    values = [item["json"] for item in data if "json" in item]
    if len(values) < len(data):
        return "nothing_in_langfuse", ""
    value = values[0]
    if _canonical(given) in (_canonical(values), _canonical(value)):  # Langfuse puts an object into a list of one
        return "equal", ""
    if isinstance(value, dict) and isinstance(value.get("message"), dict) and isinstance(given, dict):
        same = _plain(value["message"]) == _plain(given)
        why = "Langfuse keeps the whole choice as a value; evalkit reads the message in it"
        return "different", why + (_ELSE_EQUAL if same else "")
    if step.kind == "model":
        return "different", "Langfuse keeps the value; evalkit reads a message in it"
    return "different", f"the step holds {str(given)[:80]!r}"


def _messages(step: Step, side: str) -> list[dict[str, Any]]:
    if side == "input":
        raw: Any = messages_in(step.input)
    else:
        raw = step.attributes.get("conversation", [answer_in(step.output)])
    return [_plain(item) for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a message, of either form."""
    content, kept = message.get("content"), message.get("json")
    if content is None and isinstance(kept, dict):  # BeeAI names the content `text`, which Langfuse does not read
        content = kept.get("text")
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        content = content[0].get("text")
    calls = [
        (call.get("id") or "", call.get("name"), _canonical(decoded(call.get("arguments"))))
        for call in message.get("tool_calls") or []
    ]
    role = message.get("role")
    return {
        "role": _ROLES.get(str(role), role),
        "content": _canonical(decoded(content)) if content else None,
        "tool_calls": calls,
        "tool_call_id": message.get("tool_call_id"),
    }


def _canonical(value: Any) -> str:
    numbers = json.loads(
        json.dumps(value), parse_float=lambda text: int(float(text)) if float(text) % 1 == 0 else float(text)
    )
    return json.dumps(numbers, sort_keys=True)


def _reason(step: Step, messages: list[dict[str, Any]], data: list[dict[str, Any]]) -> str:
    if len(messages) != len(data):
        return f"{len(messages)} messages against {len(data)} ({step.kind} step)"
    pairs = [*zip(messages, map(_plain, data), strict=True)]
    responses = [at for at, (got, want) in enumerate(pairs) if got["role"] == "tool" and want["role"] == "user"]
    if responses and all(
        got == want or (at in responses and got["content"] == want["content"]) for at, (got, want) in enumerate(pairs)
    ):
        why = f"message {responses[0]}: a function's response is the user's to Langfuse, a tool message in normal form"
        return why + _ELSE_EQUAL
    for at, (got, want) in enumerate(pairs):
        for key in want:
            if got[key] != want[key]:
                return f"message {at}, {key}: {str(got[key])[:70]!r} against {str(want[key])[:70]!r}"
    return "equal"


if __name__ == "__main__":
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2].parent / "shared" / "corpora"
    if not (root / "langfuse").is_dir():
        sys.exit(f"no langfuse in {root}")
    print(json.dumps(main(root / "langfuse"), indent=2))
