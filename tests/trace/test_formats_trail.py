"""TRAIL's nested spans, and OpenInference attributes, as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.openinference_attributes import openinference_step
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

TRAIL = Path(__file__).parents[3] / "shared" / "corpora" / "trail"
LABEL = "SECRET-LABEL"
CALL = {"id": "c1", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
LLM: dict[str, Any] = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m-1",
    "llm.invocation_parameters": '{"temperature": 0.5}',
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Weather in Oslo?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Oslo"}',
    "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "get_weather"}}',
    "llm.token_count.prompt": "12",
    "llm.token_count.completion": 3,
    "llm.token_count.prompt_details.cache_read": 4,
}
TOOL: dict[str, Any] = {
    "openinference.span.kind": "TOOL",
    "tool.name": "get_weather",
    "input.value": '{"args": ["Oslo"], "sanitize_inputs_outputs": true, "kwargs": {"unit": "C"}}',
    "tool.parameters": '{"city": {"type": "string"}, "unit": {"type": "string"}}',
    "output.value": '{"degrees": 4}',
}


def span(span_id: str, attributes: dict[str, Any], *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A span in the middle of 2025 that lasts 61.5 seconds."""
    return {
        "timestamp": "2025-01-01T00:00:00Z",
        "duration": "PT1M1.5S",
        "span_id": span_id,
        "parent_span_id": None,
        "span_name": f"name-{span_id}",
        "service_name": "shop",
        "span_attributes": attributes,
        "status_code": "Ok",
        "status_message": "",
        "events": [],
        "links": [],
        "logs": [],
        "child_spans": list(children),
        **more,
    }


LOG = {
    "severity_text": "INFO",
    "body": {"function.name": "main", "function.arguments": {"a": 1}, "function.output": "<null>"},
    "evaluations": [{"score": LABEL}],
    "annotations": [{"note": LABEL}],
}
DOCUMENT = {"trace_id": "t1", "spans": [span("a", {}, span("b", LLM, span("c", TOOL)), logs=[LOG])]}


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document, through the front door."""
    path = tmp_path / "document"
    path.write_text(json.dumps(document), "utf-8")
    return list(load_traces(path, report=report))


def test_a_tree_of_spans_becomes_steps_with_parents_and_times(tmp_path: Path) -> None:
    """Outer spans come first, each child names its parent, and a duration gives the end."""
    (trace,) = read(tmp_path, DOCUMENT)
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("other", "name-a", None),
        ("model", "chat", 0),
        ("tool", "get_weather", 1),
    ]
    assert (trace.id, trace.dialect, trace.input, trace.started_at) == ("t1", "trail", "Weather in Oslo?", 1735689600.0)
    assert trace.steps[1].ended_at == 1735689661.5
    assert trace.attributes == {"service": "shop"}


def test_a_functions_log_is_its_input_and_output_and_its_labels_stay_out(tmp_path: Path) -> None:
    """What a traced function in an agent got and gave is kept; evaluations and annotations are counted, not read."""
    report = ReadReport()
    agent = {"openinference.span.kind": "AGENT"}
    (trace,) = read(tmp_path, {"trace_id": "t", "spans": [span("a", agent, span("b", {}, logs=[LOG]))]}, report)
    assert (trace.steps[1].input, trace.steps[1].output) == ({"a": 1}, "<null>")
    assert LABEL not in repr(trace)
    assert report.skipped["evaluation or annotation: a label, not part of the run"] == 2


def test_what_the_harness_passed_around_an_agent_stays_out(tmp_path: Path) -> None:
    """A function outside of any agent gets whole rows with gold answers: the step stays, and says what was left out."""
    body = {"function.name": "main", "function.arguments": {"Final answer": LABEL}, "function.output": [LABEL]}
    log = {"severity_text": "INFO", "body": body}
    report = ReadReport()
    inside = span("b", {"openinference.span.kind": "AGENT"}, span("c", {}, logs=[LOG]))
    chain = span("d", {"openinference.span.kind": "CHAIN", "input.value": "in", "output.value": "out"})
    (trace,) = read(tmp_path, {"trace_id": "t", "spans": [span("a", {}, inside, chain, logs=[log])]}, report)
    outer, _, inner, plain = sorted(trace.steps, key=lambda step: str(step.attributes["span_id"]))
    assert LABEL not in repr(trace)
    assert (outer.input, outer.output, inner.input, plain.input) == (None, None, {"a": 1}, "in")
    assert "gold answers" in str(outer.attributes["left_out"])
    assert report.skipped[str(outer.attributes["left_out"])] == 1


def test_a_failed_span_has_its_exception(tmp_path: Path) -> None:
    """The exception's event gives type, module and stack; without one the status message is split."""
    event = {
        "Name": "exception",
        "Attributes": {"exception.type": "a.b.Bad", "exception.message": "m", "exception.stacktrace": "s"},
    }
    told = span("a", TOOL, status_code="Error", status_message="Bad: m", events=[event])
    short = span("b", TOOL, status_code="Error", status_message="Worse: n")
    (trace,) = read(tmp_path, {"trace_id": "t", "spans": [told, short]})
    assert trace.steps[0].error == StepError("Bad", "m", "a.b", "s")
    assert trace.steps[1].error == StepError("Worse", "n")
    assert trace.status == "failed"


def test_parents_in_a_circle_are_cut(tmp_path: Path) -> None:
    """A root that names its own child as parent has none, so that nobody walks up for ever."""
    (trace,) = read(tmp_path, {"trace_id": "t", "spans": [span("a", TOOL, span("b", TOOL), parent_span_id="b")]})
    assert [step.parent for step in trace.steps] == [None, None]


def test_a_span_that_stands_there_twice_is_one_step(tmp_path: Path) -> None:
    """A copy is counted, not read; another span with the same id is a step of its own."""
    report = ReadReport()
    spans = [span("a", TOOL), span("a", TOOL), span("a", LLM)]
    (trace,) = read(tmp_path, {"trace_id": "t", "spans": spans}, report)
    assert [step.kind for step in trace.steps] == ["tool", "model"]
    assert report.skipped["span: stands there twice"] == 1


def test_a_span_without_id_is_refused(tmp_path: Path) -> None:
    """A broken span is an error, not a gap."""
    with pytest.raises(UnreadableTrace, match="lacks span_id"):
        read(tmp_path, {"trace_id": "t", "spans": [span("a", {}, {"span_name": "x"})]})


def test_a_model_span_has_messages_tools_params_and_usage() -> None:
    """Flat attributes give the normal form; counts may be text."""
    step = openinference_step(LLM, "llm")
    assert step.input == {
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "tools": [{"name": "get_weather"}],
        "params": {"temperature": 0.5},
    }
    assert step.output == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
    }
    assert step.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=4)
    assert (step.model, step.attributes) == ("m-1", {})


def test_nested_attributes_give_the_same_step() -> None:
    """A tree, with lists, is read as its flat form is."""
    message = {"role": "assistant", "tool_calls": [{"tool_call": CALL}]}
    nested: dict[str, Any] = {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {
            "model_name": "m-1",
            "invocation_parameters": {"temperature": 0.5},
            "input_messages": [{"message": {"role": "user", "content": "Weather in Oslo?"}}],
            "output_messages": [{"message": message}],
            "tools": [{"tool": {"json_schema": {"type": "function", "function": {"name": "get_weather"}}}}],
            "token_count": {"prompt": 12, "completion": 3, "prompt_details": {"cache_read": 4}},
        },
    }
    assert openinference_step(nested, "llm") == openinference_step(LLM, "llm")


def test_roles_are_those_of_the_normal_form() -> None:
    """Frameworks have their own names: Google's model, and what smolagents sends as assistant and user."""
    roles = {"developer": "system", "model": "assistant", "tool-call": "assistant", "tool-response": "user"}
    messages = {f"llm.input_messages.{at}.message.role": role for at, role in enumerate(roles)}
    step = openinference_step({**LLM, **messages}, "n")
    assert isinstance(step.input, dict)
    assert [message["role"] for message in step.input["messages"]] == [*roles.values()]  # type: ignore[call-overload,index,union-attr]


def test_indexes_sort_as_numbers() -> None:
    """The tenth message comes after the second."""
    attributes: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for at in range(12):
        attributes[f"llm.input_messages.{at}.message.content"] = f"m{at}"
    given: Any = openinference_step(dict(sorted(attributes.items())), "llm").input
    assert [message["content"] for message in given["messages"]] == [f"m{at}" for at in range(12)]


def test_parts_keep_text_images_and_reasoning() -> None:
    """Multimodal content becomes typed parts; reasoning is apart from what was said."""
    prefix = "llm.output_messages.0.message.contents"
    step = openinference_step(
        {
            "openinference.span.kind": "LLM",
            f"{prefix}.0.message_content.type": "reasoning",
            f"{prefix}.0.message_content.text": "hm",
            f"{prefix}.1.message_content.type": "text",
            f"{prefix}.1.message_content.text": "yes",
            f"{prefix}.2.message_content.type": "image",
            f"{prefix}.2.message_content.image.image.url": "u",
        },
        "llm",
    )
    assert step.output == {
        "role": "assistant",
        "content": [{"type": "text", "text": "yes"}, {"type": "image_url", "image_url": {"url": "u"}}],
        "reasoning": "hm",
    }


def test_a_python_tools_positions_get_their_names() -> None:
    """The call of a function is turned into arguments by the names of its parameters."""
    step = openinference_step(TOOL, "tool")
    assert (step.input, step.output, step.effect) == ({"city": "Oslo", "unit": "C"}, {"degrees": 4}, "read")
    assert openinference_step({"openinference.span.kind": "TOOL"}, "t").attributes["missing"] == ["input", "output"]


def test_a_retriever_has_query_and_documents() -> None:
    """Documents come in their order, with parsed metadata."""
    step = openinference_step(
        {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "q",
            "retrieval.documents.0.document.content": "d",
            "retrieval.documents.0.document.score": 0.5,
            "retrieval.documents.0.document.metadata": '{"page": 1}',
        },
        "r",
    )
    assert (step.kind, step.input) == ("retrieval", {"query": "q"})
    assert step.output == [{"content": "d", "score": 0.5, "metadata": {"page": 1}}]


def test_an_unknown_kind_is_kept_whole() -> None:
    """A kind that nobody knows becomes an `other` step with all its attributes."""
    step = openinference_step({"openinference.span.kind": "NEW", "x.y": 1, "input.value": "i"}, "n")
    assert (step.kind, step.name, step.input) == ("other", "n", "i")
    assert step.attributes == {"openinference.span.kind": "NEW", "x.y": 1}


@pytest.mark.corpus
@pytest.mark.skipif(not TRAIL.is_dir(), reason="the TRAIL corpus is not beside this checkout")
def test_every_real_trace_is_read_whole() -> None:
    """Every span becomes a step with its own id, whatever its depth, and every model step has messages and answer."""
    for path in sorted([*TRAIL.glob("GAIA/*.json"), *TRAIL.glob("SWE_Bench/*.json")]):
        text = path.read_text("utf-8")
        report = ReadReport()
        (trace,) = load_traces(path, report=report)
        ids = [step.attributes["span_id"] for step in trace.steps]
        assert len(ids) == len(set(ids))
        assert len(ids) + report.skipped["span: stands there twice"] == text.count('"child_spans"')
        assert not any(step.attributes.get("missing") for step in trace.of_kind("model"))
