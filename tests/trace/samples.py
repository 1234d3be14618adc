"""A few small documents of every format, written by hand: what the tests of hostile input start from.

A new format needs at least one here (`test_every_format_has_a_sample`). A sample is rich rather than
real: it has each kind of element that the reader looks at, so that damage to it reaches the reader's branches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from evalkit.trace.file import finish_json, header_json, step_json
from tests.build import a_trace, tool_step
from tests.trace import (
    provider_samples,
    test_formats_autogen,
    test_formats_claude_code,
    test_formats_codex,
    test_formats_inspect,
    test_formats_otlp_protobuf,
    test_formats_phoenix,
    test_formats_span_dialects,
    test_formats_vercel,
)
from tests.trace.damage import json_text
from tests.trace.otlp_builders import any_value, pairs

__all__ = ["SAMPLES", "Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A document of one format.

    Attributes:
        format: the format's name in the registry.
        document: its content, as JSON; damaged, it may be any JSON value. Bytes, where it is no JSON: only these are
            damaged then.
        write: puts a document into a folder in the format's shape, and gives the path to read.
    """

    format: str
    document: Any
    write: Callable[[Any, Path], Path]


def one_document(document: Any, folder: Path) -> Path:
    """A file of one JSON document."""
    path = folder / "document.json"
    path.write_text(json_text(document), "utf-8")
    return path


def one_a_line(document: Any, folder: Path) -> Path:
    """A file of JSON Lines."""
    path = folder / "document.jsonl"
    items = document if isinstance(document, list) else [document]
    path.write_text("".join(json_text(item) + "\n" for item in items), "utf-8")
    return path


def one_after_the_other(document: Any, folder: Path) -> Path:
    """A file of JSON documents over several lines each, as a console exporter prints them."""
    path = folder / "document.txt"
    items = document if isinstance(document, list) else [document]
    texts = (json_text(item).replace('{"name": ', '{\n    "name": ', 1) for item in items)
    texts = (text.replace('"context": {"trace_id"', '\n    "context": {\n        "trace_id"', 1) for text in texts)
    path.write_text("".join(text.removesuffix("}") + "\n}\n" for text in texts), "utf-8")
    return path


def as_it_is(document: Any, folder: Path) -> Path:
    """A file of bytes."""
    path = folder / "document"
    path.write_bytes(document)
    return path


def inspect_archive(document: Any, folder: Path) -> Path:
    """An ``.eval`` file of the log's header and samples."""
    path = folder / "log.eval"
    log = document if isinstance(document, dict) else {}
    samples = log.get("samples")
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for at, sample in enumerate(samples if isinstance(samples, list) else [samples], 1):
            file.writestr(ZipInfo(f"samples/{at}_epoch_1.json"), json_text(sample))  # its time is always the same
        file.writestr(ZipInfo("header.json"), json_text({key: value for key, value in log.items() if key != "samples"}))
    return path


def claude_project(document: Any, folder: Path) -> Path:
    """A folder of sessions: the main one, and one beside it by each other key."""
    for name, lines in document.items() if isinstance(document, dict) else [("s", document)]:
        one_a_line(lines, folder).rename(folder / f"{hashlib.sha256(name.encode()).hexdigest()[:8]}.jsonl")
    return folder


def stepfork_bundle(document: Any, folder: Path) -> Path:
    """A folder with a manifest and events."""
    parts = document if isinstance(document, dict) else {}
    (folder / "manifest.json").write_text(json_text(parts.get("manifest")), "utf-8")
    events = parts.get("events")
    items = events if isinstance(events, list) else [events]
    (folder / "events.jsonl").write_text("".join(json_text(item) + "\n" for item in items), "utf-8")
    return folder


def chained_lines(document: Any, folder: Path) -> Path:
    """A native file whose hash chain holds: who forges a trace can count hashes, too."""
    path = folder / "run.trace"
    previous, lines = "", []
    for body in document if isinstance(document, list) else [document]:
        text = json_text(body).removesuffix("}")
        previous, before = hashlib.sha256((previous + text).encode()).hexdigest(), previous
        lines.append(f'{text},"prev":"{before}","hash":"{previous}"}}\n')
    path.write_text("".join(lines), "utf-8")
    return path


def _native() -> list[dict[str, Any]]:
    """The lines of a small trace, one of its steps in two lines."""
    trace = a_trace(
        tool_step(0, "lookup", {"order": 7}, {"amount": 5.0}, attributes={"a": [1]}),
        tool_step(1, "refund", {"order": 7}, error="no such order", effect="write", parent=0),
        output={"done": True},
    )
    first, second = (step_json(step) for step in trace.steps)
    shared = {"refs": [[["input", "order"], 0, ["id"]]], "prefix": []}
    bodies: list[dict[str, Any]] = [
        header_json(trace, 1.0),
        {"type": "step", **first, "usage": {"input_tokens": 1}},
        {"type": "start", **{key: second[key] for key in ("step", "kind", "name", "input", "parent")}, **shared},
        {"type": "end", **second},
        finish_json(trace),
    ]
    return [{**body, "seq": at} for at, body in enumerate(bodies)]


CALL = {"id": "c", "type": "function", "function": {"name": "get_x", "arguments": '{"a": [1]}'}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL], "function_call": None}
RESULT = {"role": "tool", "tool_call_id": "c", "name": "get_x", "content": '{"b": 1}'}
CHAT = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "u"}]},
    ASKS,
    RESULT,
    {"role": "assistant", "content": "a"},
]
TAU = [{"task_id": 1, "trial": 0, "traj": CHAT}]
TAU2 = {
    "info": {
        "agent_info": {"llm": "m", "llm_args": {"temperature": 0}, "implementation": "i"},
        "environment_info": {"policy": "p", "domain_name": "d", "tool_defs": [{"name": "f", "input_schema": {}}]},
    },
    "tasks": [{"id": 1}],
    "simulations": [
        {
            "task_id": 1,
            "trial": 0,
            "termination_reason": "user_stop",
            "start_time": "2025-01-01T00:00:00",
            "messages": [
                {"role": "user", "content": "u", "timestamp": "2025-01-01T00:00:00"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}, "requestor": "assistant"}],
                    "usage": {
                        "prompt_tokens": 1,
                        "completion_tokens": 2,
                        "prompt_tokens_details": {"cached_tokens": 1},
                    },
                    "cost": 0.1,
                },
                {"role": "tool", "id": "c", "content": "[1]", "error": False, "requestor": "assistant"},
            ],
        }
    ],
}
LANGCHAIN = {
    "type": "ai",
    "content": "",
    "tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}],
    "usage_metadata": {},
}
STEPFORK = {
    "manifest": {"format": "stepfork", "run_id": "r", "agent_name": "a", "status": "failed", "failure": {"type": "E"}},
    "events": [
        {"id": "0", "type": "run_start", "parent_id": None, "timestamp": "2025-01-01T00:00:00Z", "input": 1},
        {
            "id": "1",
            "type": "llm_request",
            "parent_id": "0",
            "input": {
                "method": "chat.completions.create",
                "request": {"messages": [ASKS], "tools": [CALL]},
            },
        },
        {"id": "2", "type": "llm_response", "parent_id": "1", "output": {"generations": [{"message": LANGCHAIN}]}},
        {
            "id": "3",
            "type": "llm_request",
            "parent_id": "0",
            "input": {"messages": [LANGCHAIN], "kwargs": {"tools": []}},
        },
        {"id": "4", "type": "tool_call", "parent_id": "3", "name": "f", "input": {}},
        {
            "id": "5",
            "type": "tool_result",
            "parent_id": "4",
            "name": "f",
            "status": "error",
            "output": {"error_type": "E"},
        },
        {"id": "6", "type": "error", "parent_id": "5", "error_type": "E", "message": "m"},
        {"id": "7", "type": "state_change", "parent_id": "0", "key": "k", "before": 1, "after": 2},
    ],
}


def _span(span_id: str, parent: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "traceId": "t",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": f"span {span_id}",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": pairs(attributes),
        **more,
    }


PARTS = [
    {
        "role": "user",
        "parts": [{"type": "text", "content": "u"}, {"type": "tool_call_response", "id": "c", "response": 1}],
    },
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
]
SPANS = [
    _span("a", "", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "n"}),
    _span(
        "b",
        "a",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.input.messages": [],
            "gen_ai.output.messages": json.dumps(PARTS),
            "gen_ai.system_instructions": {},
            "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "f"}]),
        },
        status={"code": 2, "message": "m"},
        events=[{"name": "exception", "attributes": pairs({"exception.type": "a.B"})}],
        links=[{}],
    ),
    _span(
        "c",
        "a",
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "u",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.name": "f",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
            "llm.request.functions.0.name": "f",
        },
    ),
    _span("d", "c", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c"}),
    _span(
        "e",
        "a",
        {"gen_ai.operation.name": "chat", "gen_ai.system": "anthropic"},
        events=[
            {"name": "gen_ai.user.message", "attributes": pairs({"content": "u"})},
            {"name": "gen_ai.choice", "attributes": pairs({"index": 0, "message": {"tool_calls": [CALL]}})},
            {"name": "gen_ai.content.prompt", "attributes": pairs({"gen_ai.prompt": json.dumps(CHAT)})},
        ],
    ),
    _span(
        "f",
        "a",
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "f", "traceloop.entity.input": '{"inputs": {}}'},
    ),
    _span("g", "a", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": json.dumps([{"id": 1}])}),
]
OPENINFERENCE: dict[str, Any] = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m-1",
    "llm.invocation_parameters": '{"temperature": 0.5}',
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.contents.0.message_content.type": "text",
    "llm.input_messages.0.message.contents.0.message_content.text": "how many?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
    "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "f"}}',
    "llm.token_count.prompt": "7",
    "llm.cost.total": 0.5,
    "input.value": '{"messages": []}',
    "input.mime_type": "application/json",
}
OPENINFERENCE_TOOL = {
    "openinference.span.kind": "TOOL",
    "tool.name": "f",
    "tool.parameters": '{"a": {}}',
    "input.value": '{"args": ["x"], "kwargs": {}}',
    "output.value": "found",
}
RETRIEVER = {"openinference.span.kind": "RETRIEVER", "input.value": "q", "retrieval.documents.0.document.content": "d"}
BY_OPENINFERENCE = (("a", OPENINFERENCE), ("b", OPENINFERENCE_TOOL), ("c", RETRIEVER))
LOGS = [
    {
        "traceId": "t",
        "spanId": "b",
        "eventName": "gen_ai.user.message",
        "body": any_value({"content": "u", "role": "user"}),
    },
    {"eventName": "gen_ai.choice", "body": any_value({"message": {"content": "a"}, "finish_reason": "stop"})},
]


def _request(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": pairs({"service.name": "s"})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [*spans]}]}],
        "resourceLogs": [{"scopeLogs": [{"logRecords": LOGS}]}],
    }


def _tree(span_id: str, attributes: dict[str, Any], *children: Any, **more: Any) -> dict[str, Any]:
    return {
        "span_id": span_id,
        "parent_span_id": None,
        "span_name": span_id,
        "timestamp": "2025-03-19T16:43:00Z",
        "duration": "PT2.5S",
        "span_attributes": attributes,
        "child_spans": list(children),
        **more,
    }


TRAIL = {
    "trace_id": "t",
    "spans": [
        _tree(
            "1",
            {},
            _tree("2", OPENINFERENCE, _tree("3", OPENINFERENCE_TOOL, status_code="Error", status_message="E: m")),
            _tree("4", RETRIEVER, events=[{"Name": "exception", "Attributes": {"exception.type": "E"}}], links=[{}]),
            logs=[{"body": {"function.name": "main", "function.arguments": {"a": 1}}, "annotations": [1]}],
            service_name="shop",
        )
    ],
}
SWE = {
    "history": [
        {"role": "system", "content": "solve it", "agent": "primary", "message_type": "system_prompt"},
        {"role": "user", "content": "the bug", "agent": "primary", "is_demo": False},
        {"role": "assistant", "content": "I look.", "agent": "primary", "action": "ls", "thought": "I look."},
        {"role": "user", "content": "a.py", "agent": "primary"},
        {"role": "assistant", "content": "", "agent": "other", "tool_calls": [CALL]},
        {"role": "tool", "content": "b.py", "agent": "primary", "tool_call_ids": ["c"]},
    ],
    "trajectory": [
        {"action": "ls", "observation": "a.py", "response": "I look.", "state": {"dir": "/"}, "execution_time": 0.5},
        {"action": "f", "observation": "b.py", "response": ""},
    ],
    "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {"tokens_sent": 5}},
    "replay_config": {"agent": {"model": {"name": "m"}}},
    "environment": "main",
}
MINI = {
    "trajectory_format": "mini-swe-agent-1",
    "instance_id": "i",
    "info": {
        "exit_status": "Submitted",
        "submission": "diff",
        "mini_version": "1.0",
        "config": {"model": {"model_name": "m", "model_kwargs": {"temperature": 0}}},
    },
    "messages": [
        {"role": "system", "content": "solve it"},
        {"role": "user", "content": "the bug"},
        {
            "role": "assistant",
            "content": "look\n```bash\nls\n```",
            "extra": {
                "response": {"model": "m", "usage": {"prompt_tokens": 1}},
                "cost": 0.1,
                "timestamp": 100.5,
                "actions": [{"command": "ls"}],
            },
        },
        {"role": "user", "content": "a.py", "extra": {"exception_info": "x"}},
        ASKS,
        RESULT,
        {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
    ],
}
WHO = {
    "question": "how many?",
    "question_ID": "q",
    "mistake_agent": "Coder",
    "mistake_step": "1",
    "system_prompt": {"Coder": "You code."},
    "history": [
        {"role": "user", "name": "Planner", "content": "count them"},
        {"role": "assistant", "name": "Coder", "content": "```python\nprint(2)\n```"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 1 (failed)\nCode output: x"},
        {"role": "Orchestrator (thought)", "content": [{"type": "text", "text": "hm"}]},
    ],
}


def _observation(number: int, kind: str, parent: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"o{number}",
        "type": kind,
        "name": f"n{number}",
        "parentObservationId": f"o{parent}" if parent else None,
        "startTime": f"2025-01-01T00:00:{number:02}Z",
        "endTime": f"2025-01-01T00:00:{number + 1:02}Z",
        "level": "DEFAULT",
        **more,
    }


LANGFUSE = {
    "trace": {"id": "t", "name": "n", "timestamp": "2025-01-01T00:00:00Z", "scores": [{}], "metadata": '{"a": 1}'},
    "observations": [
        _observation(1, "AGENT", 0, input=PARTS, output=[*PARTS, {"role": "assistant", "content": "x"}]),
        _observation(
            2,
            "GENERATION",
            1,
            input=json.dumps({"messages": CHAT, "tools": [{"name": "f"}]}),
            output={"choices": [{"message": ASKS}, {"message": ASKS}]},
            usageDetails={"input": 1, "output": 2, "input_cached_tokens": 1},
            costDetails={"total": 0.5},
            modelParameters={"temperature": "0.5"},
            model="m",
            metadata={"attributes": {**OPENINFERENCE, "model_request_parameters": {"function_tools": [{"name": "f"}]}}},
        ),
        _observation(
            3, "SPAN", 1, metadata=json.dumps({"attributes": {"gen_ai.tool.name": "f", "tool_arguments": "{}"}})
        ),
        _observation(4, "TOOL", 3, input={"a": 1}, output="[1]", level="ERROR", statusMessage="E: x"),
        _observation(5, "RETRIEVER", 1, input={"query": "q"}, output={"documents": [{"id": 1}]}),
        _observation(6, "GENERATION", 1, input="user: hi\nassistant: ho", output={"text": "x", "toolCalls": []}),
        _observation(
            7,
            "GENERATION",
            6,
            input={"contents": [{"role": "user", "parts": [{"function_response": {"id": "c", "response": 1}}]}]},
            output={"content": {"parts": [{"function_call": {"name": "f", "args": {}}}]}},
        ),
        _observation(
            8, "GENERATION", 1, input={"input": "hi", "model": "m"}, output={"output": [{"type": "function_call"}]}
        ),
    ],
}


def _run(number: int, run_type: str, parent: str, **more: Any) -> dict[str, Any]:
    order = f"20250101T0000{number:02}000000Zr{number}"
    return {
        "id": f"r{number}",
        "trace_id": "r1",
        "name": f"n{number}",
        "run_type": run_type,
        "start_time": f"2025-01-01T00:00:{number:02}",
        "end_time": 1735689600000 + number,
        "dotted_order": f"{parent}.{order}" if parent else order,
        **more,
    }


def _constructed(kind: str, **kwargs: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", f"{kind}Message"]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


ROOT = "20250101T000001000000Zr1"
RUNS = [
    _run(1, "chain", "", inputs={"input": "hi"}, outputs={"output": "ho"}, tags=["t"], feedback_stats={"a": 1}),
    _run(
        2,
        "llm",
        ROOT,
        inputs={"messages": [[_constructed("System", content="s"), _constructed("Human", content="u", type="human")]]},
        outputs={
            "generations": [[{"text": "", "message": _constructed("AI", content="", tool_calls=[LANGCHAIN])}]],
            "llm_output": {"token_usage": {"prompt_tokens": 7}, "model_name": "m"},
        },
        extra={"invocation_params": {"temperature": 0.5, "tools": [CALL]}, "metadata": {"ls_model_type": "chat"}},
        events=[{"name": "start"}],
        total_cost=0.5,
    ),
    _run(
        3,
        "tool",
        ROOT,
        inputs={"input": "{'city': 'Oslo'}"},
        outputs={"output": _constructed("Tool", content='{"t": 3}', tool_call_id="c", status="success")},
        error="ValueError('x')Traceback (most recent call last)\n",
    ),
    _run(4, "llm", ROOT, inputs={"prompts": ["Human: hi\nAI: ho"]}, outputs={"generations": [{"text": "x"}]}),
    _run(5, "retriever", ROOT, inputs={"query": "q"}, outputs={"documents": [_constructed("Doc", page_content="d")]}),
]
POSTED = {
    "post": [{key: value for key, value in run.items() if key != "outputs"} for run in RUNS[:2]],
    "patch": [{key: run[key] for key in ("dotted_order", "trace_id", "outputs")} for run in RUNS[:2]],
}
NESTED = {
    **{key: value for key, value in RUNS[0].items() if key != "dotted_order"},
    "child_runs": [{key: value for key, value in run.items() if key != "dotted_order"} for run in RUNS[1:3]],
}


def _item(number: int, parent: int, *, error: Any = None, **data: Any) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"s{number}",
        "trace_id": "t",
        "parent_id": f"s{parent}" if parent else None,
        "started_at": f"2025-01-01T00:00:{number:02}+00:00",
        "ended_at": f"2025-01-01T00:00:{number + 1:02}+00:00",
        "span_data": data,
        "error": error,
    }


ITEMS = [
    {"object": "trace", "id": "t", "workflow_name": "n", "group_id": "g", "metadata": {"a": 1}},
    _item(1, 0, type="agent", name="a", tools=["f"]),
    _item(2, 1, type="generation", input=CHAT, output=[ASKS], usage={"input_tokens": 1}, model_config={"top_p": 1}),
    _item(3, 1, type="function", name="f", input="{}", output="x", error={"message": "m", "data": {"error": "e"}}),
    _item(4, 1, type="response", response_id="r", usage={"input_tokens_details": {"cached_tokens": 1}}),
    _item(5, 1, type="guardrail", name="g", triggered=True),
    _item(6, 1, type="handoff", from_agent="a", to_agent="b"),
]


def _protobuf() -> bytes:
    """Two messages of the collector's file exporter."""
    spans = [_span(f"{at:016x}", "", OPENINFERENCE, traceId=f"{at:032x}", links=[]) for at in (1, 2)]
    message = test_formats_otlp_protobuf.packed
    return test_formats_otlp_protobuf.by_four_bytes(
        message(test_formats_otlp_protobuf.request({**span, "parentSpanId": ""})) for span in spans
    )


def _dialects() -> list[dict[str, Any]]:
    """A span of each dialect that the tests of dialects have an example of."""
    held = [*test_formats_span_dialects.SAMPLES, *(each[1] for each in test_formats_vercel.SPANS)]
    return [_span(str(at), "0" if at else "", attributes) for at, attributes in enumerate(held)]


SAMPLES: tuple[Sample, ...] = (
    Sample("evalkit", _native(), chained_lines),
    Sample("stepfork", STEPFORK, stepfork_bundle),
    Sample("tau-bench", TAU, one_document),
    Sample("tau2-bench", TAU2, one_document),
    Sample("otlp", _request(*SPANS), one_document),
    Sample(
        "otlp", [_request(_span("a", "", OPENINFERENCE)), _request(_span("b", "a", OPENINFERENCE_TOOL))], one_a_line
    ),
    Sample("trail", TRAIL, one_document),
    Sample("swe-agent", SWE, one_document),
    Sample("mini-swe-agent", MINI, one_document),
    Sample("who-and-when", WHO, one_document),
    Sample("langfuse", LANGFUSE, one_document),
    Sample("langsmith", RUNS, one_document),
    Sample("langsmith", [POSTED, NESTED], one_a_line),
    Sample("openai-agents", ITEMS, one_a_line),
    Sample("openai-chat", provider_samples.OPENAI_CHAT, one_document),
    Sample("openai-chat", CHAT, one_a_line),
    Sample("anthropic", provider_samples.ANTHROPIC, one_a_line),
    Sample("anthropic-session", provider_samples.SESSION, one_document),
    Sample("anthropic-session", provider_samples.SESSION_CALLS, one_a_line),
    Sample("gemini", provider_samples.GEMINI, one_document),
    Sample("bedrock", provider_samples.BEDROCK, one_document),
    Sample("inspect", provider_samples.INSPECT, one_document),
    Sample("inspect", test_formats_inspect.log(test_formats_inspect.sample()), inspect_archive),
    Sample("autogen", test_formats_autogen.TASK_RESULT, one_document),
    Sample("autogen", test_formats_autogen.STATE, one_document),
    Sample("autogen", test_formats_autogen.RECORDS, one_document),
    Sample("autogen", test_formats_autogen.CHAT_RESULT, one_document),
    Sample("autogen", test_formats_autogen.CONTEXT, one_a_line),
    Sample("codex", test_formats_codex.ROLLOUT, one_a_line),
    Sample("codex", test_formats_codex.EXEC, one_a_line),
    Sample("codex", test_formats_codex.OLD_EXEC, one_a_line),
    Sample("claude-code", test_formats_claude_code.FULL, one_a_line),
    Sample("claude-code", test_formats_claude_code.stream(*test_formats_claude_code.STREAM), one_a_line),
    Sample(
        "claude-code",
        {
            "s": test_formats_claude_code.with_task([], toolUseResult={"agentId": "abc"}),
            "abc": test_formats_claude_code.agent_lines(agentId="abc"),
        },
        claude_project,
    ),
    Sample("otel-sdk-spans", [test_formats_vercel.readable(*each) for each in test_formats_vercel.SPANS], one_document),
    Sample("otel-sdk-spans", [test_formats_vercel.js_console(*each) for each in test_formats_vercel.SPANS], one_a_line),
    Sample(
        "otel-sdk-spans",
        [test_formats_vercel.python_console(*each) for each in test_formats_vercel.SPANS],
        one_after_the_other,
    ),
    Sample("phoenix", {"data": test_formats_phoenix.SPANS, "next_cursor": None}, one_document),
    Sample("phoenix", json.loads(test_formats_phoenix.FORMS["otlp file"]), one_document),
    Sample("phoenix", json.loads(test_formats_phoenix.FORMS["columns"]), one_document),
    Sample("phoenix", json.loads(test_formats_phoenix.FORMS["records"]), one_a_line),
    Sample("phoenix", test_formats_phoenix.FORMS["csv"], as_it_is),
    Sample("phoenix", test_formats_phoenix.FORMS["parquet"], as_it_is),
    Sample("otlp", _protobuf(), as_it_is),
    Sample("otlp", _request(*_dialects()), one_document),
)
