"""Agents of the OpenAI Agents SDK with a real chat API: tools, handoffs and models are recorded once, and replayed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra openai-agents is not installed")

import agents
from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    function_tool,
)
from agents.editor import ApplyPatchResult
from openai import AsyncOpenAI
from pydantic import BaseModel

import evalkit
from evalkit.errors import UsageError
from evalkit.integrations.openai_agents import instrument
from tests.capture.scripted_apis import RESPONSE, SAID
from tests.capture.scripted_server import Reply, ScriptedServer, completion, json_reply, tool_call
from tests.integrations.loop import recorded, replayed, shown
from tests.project import Project

BODIES: list[str] = []


class Order(BaseModel):
    """What a tool gives."""

    order: str
    amount: float


@function_tool
def lookup_order(order: str) -> Order:
    """The state of an order.

    Args:
        order: which one.
    """
    BODIES.append("lookup_order")
    return Order(order=order, amount=5.0)


@function_tool
async def refund_order(order: str) -> str:
    """Pay an order back."""
    BODIES.append("refund_order")
    raise LookupError(f"no order {order}")


async def _raw(context: Any, arguments: str) -> str:
    BODIES.append("raw")
    return f"raw {json.loads(arguments)['x']}"


def calling(*calls: tuple[str, dict[str, Any]]) -> Reply:
    """A model's answer that calls tools."""
    made = [tool_call(f"call_{name}", name, json.dumps(arguments)) for name, arguments in calls]
    return json_reply(completion(None, tool_calls=made))


def run(make: Callable[[Any], Any], url: str, given: Any) -> Any:
    """The final output of the agent that `make` makes with a model at a URL."""

    async def running() -> Any:
        async with AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0) as client:
            agent = make(OpenAIChatCompletionsModel("gpt-test", client))
            return (await Runner.run(agent, str(given))).final_output

    return asyncio.run(running())


def shop(model: Any) -> Any:
    """An agent with tools that hands refunds over to another one."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    raw = FunctionTool("get_raw", "A tool without the decorator.", schema, _raw, strict_json_schema=False)
    refunds = Agent("refunds", instructions="Refund.", tools=[refund_order], model=model)
    agent = Agent("shop", instructions="Help.", tools=[lookup_order, raw], handoffs=[refunds], model=model)
    return instrument(agent, effects={"refund_*": "write"})


@pytest.fixture
def no_tracing() -> Iterator[None]:
    """As in a project that has no use for the SDK's own traces."""
    agents.set_tracing_disabled(True)
    yield
    agents.set_tracing_disabled(False)


@pytest.mark.usefixtures("no_tracing")
def test_tools_and_handoffs_are_recorded_and_replayed(tmp_path: Path, server: ScriptedServer, project: Project) -> None:
    """Every call once, beside the model calls at HTTP; a failing tool fails in the replay in the same words."""
    server.will(
        calling(("lookup_order", {"order": "7"}), ("get_raw", {"x": 1})),
        calling(("transfer_to_refunds", {})),
        calling(("refund_order", {"order": "7"})),
        json_reply(completion("done")),
    )

    def agent(given: Any) -> Any:
        return run(shop, server.url, given)

    trace = recorded(agent, "refund order 7", tmp_path / "run.trace")
    assert [step for step in shown(trace) if step[0] != "model"] == [
        ("tool", "lookup_order", {"order": "7"}, {"order": "7", "amount": 5.0}, "read", None, None),
        ("tool", "get_raw", {"x": 1}, "raw 1", "read", None, None),
        ("agent", "refunds", {}, {"agent": "refunds"}, None, None, None),
        ("tool", "refund_order", {"order": "7"}, None, "write", "LookupError", None),
    ]
    assert [step.kind for step in trace.steps].count("model") == 4
    told = server.requests[-1]["body"]["messages"][-1]["content"]
    assert "error occurred" in told
    definition = trace.step(1).attributes["definition"]
    assert definition["description"] == "The state of an order."
    assert definition["parameters"]["properties"]["order"]["description"] == "which one."
    BODIES.clear()
    asked = len(server.requests)
    replay = replayed(agent, trace)
    assert (BODIES, len(server.requests)) == ([], asked)
    assert (replay.counts.tool_bodies, replay.counts.live_model, replay.counts.substituted) == (0, 0, 7)
    assert replay.trace.output == "done"
    assert shown(replay.trace) == shown(trace)


@pytest.mark.usefixtures("no_tracing")
def test_an_agent_as_a_tool_runs_in_a_replay(tmp_path: Path, server: ScriptedServer, project: Project) -> None:
    """It is an `agent` step with its own calls inside, and these are what is answered."""
    server.will(
        calling(("ask_expert", {"input": "why"})),
        calling(("lookup_order", {"order": "7"})),
        json_reply(completion("because")),
        json_reply(completion("done")),
    )

    def asking(model: Any) -> Any:
        expert = instrument(Agent("expert", tools=[lookup_order], model=model))
        return instrument(Agent("shop", tools=[expert.as_tool("ask_expert", "Ask.")], model=model))

    def agent(given: Any) -> Any:
        return run(asking, server.url, given)

    trace = recorded(agent, "help", tmp_path / "run.trace")
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("model", "chat", None),
        ("agent", "ask_expert", None),
        ("model", "chat", 1),
        ("tool", "lookup_order", 1),
        ("model", "chat", 1),
        ("model", "chat", None),
    ]
    BODIES.clear()
    replay = replayed(agent, trace)
    assert BODIES == []
    assert shown(replay.trace) == shown(trace)


@pytest.mark.usefixtures("no_tracing")
def test_a_function_that_is_a_tool_of_ours_is_one_step(
    tmp_path: Path, server: ScriptedServer, project: Project
) -> None:
    """Its own mark records it; the SDK's tool around it is no second call."""

    @function_tool
    @evalkit.tool(effect="write")
    def pay(order: str) -> str:
        """Pay an order."""
        BODIES.append("pay")
        return f"paid {order}"

    server.will(calling(("pay", {"order": "7"})), json_reply(completion("done")))

    def agent(given: Any) -> Any:
        return run(lambda model: instrument(Agent("shop", tools=[pay], model=model)), server.url, given)

    trace = recorded(agent, "pay", tmp_path / "run.trace")
    assert [step[:4] for step in shown(trace) if step[0] == "tool"] == [("tool", "pay", {"order": "7"}, "paid 7")]
    BODIES.clear()
    assert shown(replayed(agent, trace).trace) == shown(trace)
    assert BODIES == []


async def _query(context: Any, text: str) -> str:
    BODIES.append(text)
    return "3 rows"


def _executed(request: Any) -> str:
    BODIES.append("executed")
    return "ran"


async def _executed_in_full(request: Any) -> ShellResult:
    BODIES.append("executed")
    return ShellResult([ShellCommandOutput(stdout="ran", command=request.data.action.commands[0])])


class _Editor:
    """Writes no file, and says that it did."""

    def create_file(self, operation: Any) -> ApplyPatchResult:
        BODIES.append(operation.path)
        return ApplyPatchResult("completed", "made")

    update_file = delete_file = create_file


SHELL: dict[str, Any] = {"commands": ["rm -r data"], "timeout_ms": 9, "max_output_length": None}
LOCAL: dict[str, Any] = {"type": "exec", "command": ["rm", "data"], "env": {}}
PATCH: dict[str, Any] = {"type": "create_file", "path": "a.txt", "diff": "+x"}


@pytest.mark.usefixtures("no_tracing")
@pytest.mark.parametrize(
    ("make", "call", "name", "asked"),
    [
        (lambda: CustomTool("sql", "Ask.", _query), {"name": "sql", "input": "SELECT 1"}, "sql", "SELECT 1"),
        (lambda: ShellTool(executor=_executed), {"action": SHELL}, "shell_call", SHELL),
        (lambda: ShellTool(executor=_executed_in_full), {"action": SHELL}, "shell_call", SHELL),
        (lambda: LocalShellTool(executor=_executed), {"action": LOCAL}, "local_shell_call", LOCAL),
        (lambda: ApplyPatchTool(editor=_Editor()), {"operation": PATCH}, "apply_patch_call", PATCH),
    ],
)
def test_tools_that_take_no_json_are_answered_too(
    tmp_path: Path,
    server: ScriptedServer,
    project: Project,
    make: Callable[[], Any],
    call: dict[str, Any],
    name: str,
    asked: Any,
) -> None:
    """A shell runs no command in a replay, and an editor writes no file; recording breaks none of them."""
    kind = "custom_tool_call" if "input" in call else name
    made = {"id": "c_1", "type": kind, "call_id": "call_1", "status": "completed", **call}
    server.will(json_reply({**RESPONSE, "output": [made]}), json_reply({**RESPONSE, "output": [SAID]}))

    async def running() -> Any:
        async with AsyncOpenAI(base_url=server.url, api_key="sk-x", max_retries=0) as client:
            agent = instrument(Agent("shop", tools=[make()], model=OpenAIResponsesModel("gpt-test", client)))
            done = await Runner.run(agent, "go")
            return [str(item.output) for item in done.new_items if hasattr(item, "output")]

    trace = recorded(lambda given: asyncio.run(running()), "go", tmp_path / "run.trace")
    (step,) = trace.of_kind("tool")
    given = {key: (step.input or {})[key] for key in asked} if isinstance(step.input, dict) else step.input
    assert (step.name, given, step.error) == (name, asked, None)
    assert BODIES
    BODIES.clear()
    replay = replayed(lambda given: asyncio.run(running()), trace)
    assert (BODIES, replay.trace.output) == ([], trace.output)
    assert shown(replay.trace) == shown(trace)


def test_what_is_no_agent_is_refused() -> None:
    """Nothing of it would be recorded, and all of it would be done for real in a replay."""
    with pytest.raises(UsageError, match="is no agent"):
        instrument(Runner())


@pytest.mark.usefixtures("no_tracing")
def test_settings_give_effects(tmp_path: Path, server: ScriptedServer, project: Project) -> None:
    """``evalkit.toml`` wins, in the case and in its replays."""
    project.write("evalkit.toml", '[tools."lookup_*"]\neffect = "write"\n')
    server.will(calling(("lookup_order", {"order": "7"})), json_reply(completion("done")))

    def agent(given: Any) -> Any:
        return run(shop, server.url, given)

    trace = recorded(agent, "look", tmp_path / "run.trace")
    step = replayed(agent, trace).trace.step(1)
    assert (step.name, step.effect, step.effect_source) == ("lookup_order", "write", "configured")


def test_the_sdks_own_tracing_is_off_in_a_replay() -> None:
    """An agent that leaves it on sends nothing from a frozen world, which would be a miss.

    The SDK reads the switch once a process, so a process of its own.
    """
    code = (
        "import agents\nfrom evalkit.playback.environment import environment_of\n"
        "with environment_of(None):\n    print(type(agents.trace('a run')).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["NoOpTrace"]
