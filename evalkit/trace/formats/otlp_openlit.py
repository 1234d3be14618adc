"""Spans of OpenLIT: the GenAI conventions, with all messages of a prompt as lines ``role: content`` in one event.

It writes a setting that was not given as an empty text or -1. Newer versions also write the conventions' messages,
which are read first.
Source: https://github.com/openlit/openlit, ``sdk/python/src/openlit/__helpers.py`` and ``instrumentation/openai``.
"""

from __future__ import annotations

from dataclasses import replace

from evalkit.trace.formats import otlp_genai
from evalkit.trace.formats.loose_messages import messages_in_text
from evalkit.trace.formats.otlp_spans import Span
from evalkit.trace.model import Step

__all__ = ["claims", "interpret"]

_PROMPT = "gen_ai.content.prompt"
_NOT_GIVEN = ("", -1)


def claims(span: Span) -> bool:
    """Whether OpenLIT wrote the span."""
    return span.attributes.get("telemetry.sdk.name") == "openlit"


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    attributes = {
        name: value
        for name, value in span.attributes.items()
        if not (name.startswith("gen_ai.request.") and value in _NOT_GIVEN)
    }
    events = list(span.events)
    for at, event in enumerate(events):
        text = event.attributes.get("gen_ai.prompt")
        messages = messages_in_text(text) if event.name == _PROMPT and isinstance(text, str) else None
        if messages:
            attributes.setdefault("text_messages", True)  # the form is ambiguous: a message may hold such a line
            events[at] = replace(event, attributes={**event.attributes, "gen_ai.prompt": [*messages]})
    return otlp_genai.interpret(replace(span, attributes=attributes, events=tuple(events)))
