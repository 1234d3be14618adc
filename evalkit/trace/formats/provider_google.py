"""Google's ``generateContent`` bodies (Gemini API and Vertex AI).

Function calls mostly have no ids: a response to one answers the oldest open call.
Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.loose_messages import answer_in, messages_in, tools_in
from evalkit.trace.formats.provider import Answered, Asked
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.model import Usage

__all__ = ["GENERATE_CONTENT"]

_NAMES = {"maxOutputTokens": "max_tokens", "topP": "top_p", "topK": "top_k", "stopSequences": "stop",
          "candidateCount": "n"}  # fmt: skip
_USUAL_ENDS = (None, "STOP", "FINISH_REASON_UNSPECIFIED")


class _GenerateContent:
    """Requests with contents, responses with candidates."""

    name = "gemini"

    def asks(self, body: dict[str, Any]) -> bool:
        contents = dicts(body.get("contents"))
        return bool(contents) and all(isinstance(each.get("parts"), list) for each in contents)

    def answers(self, body: dict[str, Any]) -> bool:
        return bool(dicts(body.get("candidates")))

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        system = body.get("systemInstruction", body.get("system_instruction"))
        settings = dict_of(body.get("generationConfig", body.get("generation_config")))
        contents = [{"role": "user", **each} for each in dicts(body.get("contents"))]
        given = {"contents": contents, "config": {"system_instruction": system}}
        params: dict[str, Json] = {_NAMES.get(key, key): value for key, value in settings.items() if value is not None}
        choice = body.get("toolConfig", body.get("tool_config"))
        if choice:
            params["tool_config"] = choice
        model = body.get("model")
        tools = tools_in(body)
        return Asked(messages_in(given) or [], tools, params, model if isinstance(model, str) else None)

    def answered(self, body: dict[str, Any]) -> Answered:
        candidates = dicts(body.get("candidates"))
        ended = candidates[0].get("finishReason")
        attributes: dict[str, Any] = {} if ended in _USUAL_ENDS else {"finish_reason": ended}
        if len(candidates) > 1:
            attributes["other_choices"] = [each.get("content") for each in candidates[1:]]
        model, response_id = body.get("modelVersion"), body.get("responseId")
        return Answered(
            answer_in(candidates[0]) or {"role": "assistant", "content": None},
            model if isinstance(model, str) else None,
            _usage(body.get("usageMetadata")),
            response_id if isinstance(response_id, str) else None,
            attributes=attributes,
        )


GENERATE_CONTENT = _GenerateContent()


def _usage(raw: Any) -> Usage | None:
    counts = {key: value for key, value in dict_of(raw).items() if isinstance(value, int)}
    answered, thought = counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")
    found = Usage(
        input_tokens=counts.get("promptTokenCount"),
        output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
        cached_tokens=counts.get("cachedContentTokenCount"),
        reasoning_tokens=thought,
    )
    return None if found == Usage() else found
