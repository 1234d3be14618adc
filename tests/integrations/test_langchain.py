"""LangChain and LangGraph tools, recorded once and answered in a replay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("langgraph", reason="the extra langchain is not installed")

from langchain_core.documents import Document
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.types import Command, Send, interrupt

import evalkit
from evalkit.errors import UsageError
from evalkit.integrations.effects import Effects
from evalkit.integrations.langchain import instrument
from tests.integrations.loop import recorded, replayed, shown
from tests.project import Project

BODIES: list[str] = []


def a_tool(body: Callable[..., Any], **options: Any) -> BaseTool:
    """A tool of a function that counts its runs."""
    return StructuredTool.from_function(body, **options)


def make_tools(effects: Effects | None = None) -> list[BaseTool]:
    """Fresh tools, instrumented."""

    def lookup(order: str, amount: float = 5.0) -> dict[str, Any]:
        """The state of an order."""
        BODIES.append("lookup")
        return {"order": order, "amount": amount}

    async def refund_order(order: str) -> str:
        """Pay an order back."""
        BODIES.append("refund_order")
        return f"refunded {order}"

    def shaky(order: str) -> str:
        """Fails."""
        BODIES.append("shaky")
        raise ToolException(f"no order {order}")

    tools = [
        a_tool(lookup),
        StructuredTool.from_function(coroutine=refund_order),
        a_tool(shaky, handle_tool_error=True),
    ]
    found: list[BaseTool] = instrument(tools, effects=effects)
    return found


def asked(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    """A model's message that calls tools."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"c{at}"} for at, (name, args) in enumerate(calls)]
    )


def graph_of(tools: list[BaseTool], *messages: AIMessage) -> Any:
    """A graph of a scripted model and a tool node."""
    model = FakeMessagesListChatModel(responses=list(messages))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def said(result: dict[str, Any]) -> list[str]:
    """What the tools told the model."""
    return [str(message.content) for message in result["messages"] if isinstance(message, ToolMessage)]


SCRIPT = (
    asked(("lookup", {"order": "7"}), ("shaky", {"order": "7"})),
    asked(("refund_order", {"order": "7"})),
    AIMessage("done"),
)


def run_graph(given: Any) -> list[str]:
    """An agent of a graph, run by asyncio."""
    graph = graph_of(make_tools({"refund_*": "write"}), *SCRIPT)
    return said(asyncio.run(graph.ainvoke({"messages": [HumanMessage(str(given))]})))


def test_a_graphs_tools_are_recorded_and_answered(tmp_path: Path, project: Project) -> None:
    """Each once, with its effect and its definition; errors that the framework handles too. No body runs again."""
    trace = recorded(run_graph, {"order": "7"}, tmp_path / "run.trace")
    assert sorted(shown(trace)) == [
        ("tool", "lookup", {"order": "7", "amount": 5.0}, {"order": "7", "amount": 5.0}, "read", None, None),
        ("tool", "refund_order", {"order": "7"}, "refunded 7", "write", None, None),
        ("tool", "shaky", {"order": "7"}, None, "write", "ToolException", None),
    ]
    assert trace.output == ['{"order": "7", "amount": 5.0}', "no order 7", "refunded 7"]
    definition = next(step for step in trace.steps if step.name == "lookup").attributes["definition"]
    assert definition["description"] == "The state of an order."
    assert set(definition["parameters"]["properties"]) == {"order", "amount"}
    BODIES.clear()
    replay = replayed(run_graph, trace)
    assert BODIES == []
    assert (replay.counts.tool_bodies, replay.counts.substituted) == (0, 3)
    assert replay.trace.output == trace.output
    assert sorted(shown(replay.trace)) == sorted(shown(trace))


def test_a_compiled_graph_is_found_its_tools(tmp_path: Path) -> None:
    """`instrument` takes the graph itself."""

    @tool
    def find(order: str) -> str:
        """Find."""
        return order

    graph = instrument(graph_of([find], asked(("find", {"order": "7"})), AIMessage("done")))
    trace = recorded(lambda given: said(graph.invoke({"messages": [HumanMessage("x")]})), None, tmp_path / "run.trace")
    assert [(step.name, step.output) for step in trace.steps] == [("find", "7")]


class Weather(BaseTool):
    """A tool with a class of its own, sync only, that gives content and artifact."""

    name: str = "get_weather"
    description: str = "The weather."
    response_format: str = "content_and_artifact"  # type: ignore[assignment,unused-ignore]

    def _run(self, city: str) -> tuple[str, dict[str, int]]:
        BODIES.append("weather")
        return f"sunny in {city}", {"degrees": 21}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_of_its_own_class_is_one_step(tmp_path: Path, project: Project, is_async: bool) -> None:
    """The sync body of an async call is not counted twice, and content and artifact come back as a pair."""

    def agent(given: Any) -> Any:
        weather = instrument(Weather())
        call = {"type": "tool_call", "name": "get_weather", "args": given, "id": "c1"}
        message = asyncio.run(weather.ainvoke(call)) if is_async else weather.invoke(call)
        return [message.content, message.artifact]

    trace = recorded(agent, {"city": "Ulm"}, tmp_path / "run.trace")
    assert shown(trace) == [
        ("tool", "get_weather", {"city": "Ulm"}, ["sunny in Ulm", {"degrees": 21}], "read", None, None)
    ]
    BODIES.clear()
    assert replayed(agent, trace).trace.output == ["sunny in Ulm", {"degrees": 21}]
    assert BODIES == []


def test_injected_state_is_left_out_and_commands_come_back(tmp_path: Path, project: Project) -> None:
    """What the framework adds is no argument of the call; a Command is one again in a replay."""

    def agent(given: Any) -> Any:
        @tool
        def note(text: str, state: Annotated[dict[str, Any], InjectedState]) -> Command[Any]:
            """Note."""
            BODIES.append("note")
            return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id="c0")]})

        graph = graph_of(instrument([note]), asked(("note", {"text": "x"})), AIMessage("done"))
        return said(graph.invoke({"messages": [HumanMessage("hi")]}))

    trace = recorded(agent, None, tmp_path / "run.trace")
    assert (trace.steps[0].input, trace.output) == ({"text": "x"}, ["noted x"])
    BODIES.clear()
    assert replayed(agent, trace).trace.output == ["noted x"]
    assert BODIES == []


def test_documents_of_a_retriever_come_back_as_documents(tmp_path: Path, project: Project) -> None:
    """Recorded in normal form, and given back as LangChain's own."""

    @evalkit.retrieval
    def search(question: str) -> list[Document]:
        BODIES.append("search")
        return [Document("14 days", id="terms", metadata={"version": "3"})]

    def agent(given: Any) -> Any:
        (found,) = search(given)
        return [type(found).__name__, found.page_content, found.metadata]

    trace = recorded(agent, "how long?", tmp_path / "run.trace")
    output: Any = trace.steps[0].output
    (document,) = output
    assert (document["id"], document["version"], document["content"]) == ("terms", "3", "14 days")
    BODIES.clear()
    assert replayed(agent, trace).trace.output == ["Document", "14 days", {"version": "3"}] == trace.output
    assert BODIES == []


@pytest.mark.parametrize("properties", [{}, {"order": {"type": "string"}}])
def test_arguments_that_no_schema_names_tell_calls_apart(
    tmp_path: Path, project: Project, properties: dict[str, Any]
) -> None:
    """A refund of another amount is another call, and is not answered by the recorded one."""

    def agent(given: Any) -> Any:
        def body(**arguments: Any) -> str:
            return f"refunded {arguments}"

        schema = {"type": "object", "properties": properties}
        refund = StructuredTool(name="refund", description="Pay.", args_schema=schema, func=body)
        return instrument(refund).invoke(given)

    trace = recorded(agent, {"order": "7", "amount": 5.0}, tmp_path / "run.trace")
    assert trace.step(0).input == {"order": "7", "amount": 5.0}
    case = evalkit.ingest(trace, expect={"output": {"never": "this"}}, case_id="loop")
    assert evalkit.replay(case, lambda given: agent({**given, "amount": 6.0})).status == "missed"
    assert evalkit.replay(case, agent).status == "failed"


def test_a_tool_that_waits_for_a_person_waits_again(tmp_path: Path, project: Project) -> None:
    """The interrupt comes back with its value, and the graph goes on from it; the body runs in neither."""

    def refund(order: str) -> str:
        """Pay an order back, once somebody agrees."""
        BODIES.append("refund")
        return f"refunded {order}: {interrupt({'refund': order})}"

    def agent(given: Any) -> list[Any]:
        made = StateGraph(MessagesState).add_node("tools", ToolNode([a_tool(refund)]))
        graph = instrument(made.add_edge(START, "tools").compile(checkpointer=InMemorySaver()))
        config: Any = {"configurable": {"thread_id": "1"}}
        asking = graph.invoke({"messages": [asked(("refund", {"order": given}))]}, config)["__interrupt__"]
        return [asking[0].value, *said(graph.invoke(Command(resume="yes"), config))]

    trace = recorded(agent, "7", tmp_path / "run.trace")
    assert trace.output == [{"refund": "7"}, "refunded 7: yes"]
    BODIES.clear()
    replay = replayed(agent, trace)
    assert (replay.trace.output, BODIES) == (trace.output, [])
    assert shown(replay.trace) == shown(trace)


def test_a_command_sends_on_in_a_replay(tmp_path: Path, project: Project) -> None:
    """What it sends to a node comes there, messages as messages."""

    def hop(order: str) -> Any:
        """Hand over."""
        hopped = ToolMessage("hopped", tool_call_id="c0")
        return Command(goto=[Send("desk", {"messages": [HumanMessage(order)]})], update={"messages": [hopped]})

    def agent(given: Any) -> Any:
        made = StateGraph(MessagesState).add_node("tools", ToolNode([a_tool(hop)])).add_edge(START, "tools")
        made.add_node("desk", lambda state: {"messages": [AIMessage(f"took {state['messages'][-1].content}")]})
        return (
            instrument(made.compile()).invoke({"messages": [asked(("hop", {"order": given}))]})["messages"][-1].content
        )

    trace = recorded(agent, "7", tmp_path / "run.trace")
    assert trace.output == "took 7"
    assert replayed(agent, trace).trace.output == "took 7"


def test_a_tool_of_ours_in_one_of_theirs_is_one_step(tmp_path: Path, project: Project) -> None:
    """Its own mark records it; the framework's tool around it is no second call."""

    @evalkit.tool(effect="write")
    def refund(order: str) -> str:
        """Pay an order back."""
        return f"refunded {order}"

    def agent(given: Any) -> Any:
        return instrument(a_tool(refund)).invoke({"order": given})

    trace = recorded(agent, "7", tmp_path / "run.trace")
    assert shown(trace) == [("tool", "refund", {"order": "7"}, "refunded 7", "write", None, None)]
    assert shown(replayed(agent, trace).trace) == shown(trace)


def test_tools_are_found_in_a_graph_before_it_is_compiled_or_refused() -> None:
    """What a node's own function calls can't be seen: it would run for real in a replay, and nobody would be told."""
    lookup = a_tool(lambda order: order, name="lookup", description="Look.")
    made = StateGraph(MessagesState).add_node("tools", ToolNode([lookup]))
    instrument(made)
    assert "_run" in vars(lookup)
    bare = StateGraph(MessagesState).add_node("own", lambda state: {"messages": [lookup.invoke("7")]})
    with pytest.raises(UsageError, match="there is no tool in this StateGraph"):
        instrument(bare)
    assert instrument([]) == []


def test_without_a_session_tools_are_as_they_were() -> None:
    """Instrumenting is harmless in production without recording, and doing it twice is doing it once."""
    (lookup, *_) = tools = make_tools()
    before = lookup._run
    assert instrument(tools) is tools
    assert lookup._run == before
    assert lookup.invoke({"order": "7"}) == {"order": "7", "amount": 5.0}


def test_an_unknown_effect_is_refused() -> None:
    """Before anything is changed."""
    with pytest.raises(UsageError, match="effect"):
        make_tools({"*": "harmless"})  # type: ignore[dict-item]  # what is tested


def test_settings_win_over_what_the_code_says(tmp_path: Path, project: Project) -> None:
    """``evalkit.toml`` gives effects to a framework's tools, in the case and in its replays."""
    project.write("evalkit.toml", '[tools."look*"]\neffect = "write"\n')
    trace = recorded(run_graph, {"order": "7"}, tmp_path / "run.trace")
    (step,) = [step for step in replayed(run_graph, trace).trace.steps if step.name == "lookup"]
    assert (step.effect, step.effect_source) == ("write", "configured")
