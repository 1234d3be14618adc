"""Matching: a call is answered by what was recorded for it, or it is a miss; never by something else."""

from __future__ import annotations

import random
import sys
import threading
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.capture.seam import Answer, Call
from evalkit.playback.fixtures import FixtureIndex, Frozen, ReplayHalt
from evalkit.trace.model import Kind, Step
from tests.build import tool_step
from tests.strategies import json_values, texts

TOOLS: frozenset[Kind] = frozenset({"tool"})
ALL: frozenset[Kind] = frozenset({"tool", "model"})


def call(name: str, arguments: Any = None) -> Call:
    """A tool call."""
    return Call("tool", name, {} if arguments is None else arguments)


def frozen(*steps: Step, kinds: frozenset[Kind] = TOOLS, strict: bool = False, **rest: Any) -> Frozen:
    """A replay's answerer over some recorded steps."""
    return Frozen(FixtureIndex(steps, kinds, **rest), strict=strict)


def output(answer: Answer | None) -> Any:
    """What an answer holds."""
    assert answer is not None
    return answer.output


@given(
    st.lists(st.tuples(texts, st.dictionaries(texts, json_values, max_size=3), json_values), max_size=6), st.randoms()
)
def test_every_recorded_call_is_answered_in_any_order(
    recorded: list[tuple[str, Any, Any]], order: random.Random
) -> None:
    """Parallel calls may come as they like: each key's answers come in their own order."""
    steps = [tool_step(seq, name, arguments, result) for seq, (name, arguments, result) in enumerate(recorded)]
    answerer = frozen(*steps)
    shuffled = list(steps)
    order.shuffle(shuffled)
    got = [output(answerer.answer(call(step.name, step.input))) for step in shuffled]
    assert sorted(map(repr, got)) == sorted(repr(step.output) for step in steps)
    assert answerer.misses == []


def test_a_configured_effect_holds_in_the_replay() -> None:
    """The project's word on a tool, which the code under test does not know of."""
    step = replace(tool_step(0, "process", {}, "ok", effect="write"), effect_source="configured")
    answer = frozen(step).answer(call("process"))
    assert answer is not None
    assert answer.configured == "write"
    declared = frozen(tool_step(0, "process", {}, "ok", effect="write")).answer(call("process"))
    assert declared is not None
    assert (declared.configured, declared.wrote) == (None, True)


def test_equal_arguments_match_in_any_form() -> None:
    """Key order and 1 against 1.0 make no difference."""
    answerer = frozen(tool_step(0, "pay", {"a": 1, "b": [2.0, {"c": -0.0}]}, "ok"))
    assert output(answerer.answer(call("pay", {"b": [2, {"c": 0}], "a": 1.0}))) == "ok"


@pytest.mark.parametrize("arguments", [{"a": True}, {"a": "1"}, {"a": 2}, {"a": 1, "b": None}, {}])
def test_other_arguments_are_a_miss(arguments: dict[str, Any]) -> None:
    """No answer is given for a question that was not asked."""
    answerer = frozen(tool_step(0, "pay", {"a": 1}, "ok"))
    with pytest.raises(ReplayHalt):
        answerer.answer(call("pay", arguments))
    assert len(answerer.misses) == 1


def test_several_answers_come_in_order_and_the_last_stays() -> None:
    """A status asked three times goes pending, done, done."""
    answerer = frozen(tool_step(0, "status", {}, "pending"), tool_step(1, "status", {}, "done"))
    assert [output(answerer.answer(call("status"))) for _ in range(4)] == ["pending", "done", "done", "done"]


def test_threads_that_make_one_call_at_once_get_an_answer_each() -> None:
    """No recorded answer is given twice while another is left."""
    answerer = frozen(*[tool_step(at, "next", {"id": f"id-{at}"}, at) for at in range(96)], volatile={"next": ("/id",)})
    got: list[Any] = []

    def ask() -> None:
        got.extend([output(answerer.answer(call("next", {"id": f"drawn-{uuid.uuid4()}"}))) for _ in range(12)])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(got) == list(range(96))


def test_an_answer_given_once_more_than_recorded_says_so() -> None:
    """A reader sees which calls were made more often than that day; reads and writes alike."""
    answerer = frozen(tool_step(0, "pay", {}, "paid", effect="write"))
    answers = [answerer.answer(call("pay")) for _ in range(3)]
    assert [answer is not None and answer.attributes.get("answered_again") for answer in answers] == [None, True, True]


def test_a_miss_names_the_nearest_call_and_its_paths() -> None:
    """People see which argument differs, from what to what."""
    answerer = frozen(
        tool_step(0, "pay", {"order": {"id": 7}, "amounts": [1, 2]}, "ok"),
        tool_step(1, "pay", {"order": {"id": 9}, "amounts": [5, 6], "x": 0}, "ok"),
    )
    with pytest.raises(ReplayHalt, match="nearest is step 0"):
        answerer.answer(call("pay", {"order": {"id": 8}, "amounts": [1, 2]}))
    (difference,) = answerer.misses[0].differences
    assert (difference.path, difference.recorded, difference.actual) == ("/order/id", 7, 8)
    assert "/order/id: recorded 7, got 8" in answerer.misses[0].sentence()


def test_a_miss_of_an_unknown_tool_says_so() -> None:
    """There is no nearest call where the case never used the tool."""
    answerer = frozen(tool_step(0, "pay"))
    with pytest.raises(ReplayHalt, match="never calls burn"):
        answerer.answer(call("burn"))


def test_a_halt_is_no_exception_that_an_agent_catches() -> None:
    """``except Exception`` and retry loops don't take a miss for an answer."""
    assert not issubclass(ReplayHalt, Exception)


def test_a_spelling_that_matched_before_is_no_answer_for_what_is_not_json() -> None:
    """NaN is written like null, and is never taken for it."""
    answerer = frozen(tool_step(0, "pay", {"limit": None}, "ok"))
    assert output(answerer.answer(call("pay", {"limit": None}))) == "ok"
    with pytest.raises(ReplayHalt, match="no JSON"):
        answerer.answer(call("pay", {"limit": float("nan")}))


def test_a_kind_that_is_not_frozen_is_left_to_the_real_thing() -> None:
    """In live-model mode the model is asked for real."""
    answerer = frozen(tool_step(0, "pay"))
    assert answerer.answer(Call("model", "chat", {"messages": []})) is None


def test_strict_mode_wants_the_recorded_order() -> None:
    """The mismatch names the call's number, what was expected and what came."""
    answerer = frozen(tool_step(0, "a"), tool_step(1, "b"), strict=True)
    with pytest.raises(ReplayHalt, match=r"call 1: tool b: strict order: expected tool a \(step 0\), got tool b"):
        answerer.answer(call("b"))


def test_strict_mode_says_where_a_call_differs_from_the_expected_one() -> None:
    """Of the same tool with other arguments: the paths, expected and actual."""
    answerer = frozen(tool_step(0, "a", {"x": 1}), tool_step(1, "a", {"x": 2}), strict=True)
    with pytest.raises(ReplayHalt, match=r"expected tool a \(step 0\) with other arguments \(/x: recorded 1, got 2\)"):
        answerer.answer(call("a", {"x": 2}))


def test_strict_mode_allows_no_further_call() -> None:
    """One call more than recorded is a mismatch too."""
    answerer = frozen(tool_step(0, "a"), strict=True)
    answerer.answer(call("a"))
    with pytest.raises(ReplayHalt, match="ends after 1 calls"):
        answerer.answer(call("a"))


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/id", {"id": "other", "order": 7}),
        ("/meta/at", {"id": "x", "order": 7, "meta": {"at": 5}}),
        ("/rows/*/id", {"rows": [{"id": 1, "v": 2}, {"id": 9, "v": 3}]}),
        ("/*", {"anything": 1}),
    ],
)
def test_volatile_paths_are_left_out(path: str, arguments: dict[str, Any]) -> None:
    """An id or time that is new in every run, declared in the case, does not hinder a match."""
    by_path: dict[str, dict[str, Any]] = {
        "/id": {"id": "x", "order": 7},
        "/meta/at": {"id": "x", "order": 7, "meta": {"at": 1}},
        "/rows/*/id": {"rows": [{"id": 7, "v": 2}, {"id": 8, "v": 3}]},
        "/*": {"other": 2},
    }
    answerer = frozen(tool_step(0, "pay", by_path[path], "ok"), volatile={"pay": (path,)})
    assert output(answerer.answer(call("pay", arguments))) == "ok"


def conversation(*ids: str) -> dict[str, Any]:
    """A request whose history holds two parallel tool calls and their results."""
    calls = [{"id": ids[0], "name": "a", "arguments": {}}, {"id": ids[1], "name": "b", "arguments": {}}]
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": ids[0], "content": "1"},
            {"role": "tool", "tool_call_id": ids[1], "content": "2"},
        ]
    }


def test_model_calls_match_whatever_their_tool_call_ids_are() -> None:
    """Providers invent these ids anew in each run, and some use one twice."""
    model = Step(0, "model", "chat", conversation("call_x", "call_y"), {"role": "assistant", "content": "done"})
    answerer = frozen(model, kinds=ALL)
    assert output(answerer.answer(Call("model", "chat", conversation("call_0", "call_1"))))["content"] == "done"


def test_model_calls_with_swapped_results_are_a_miss() -> None:
    """Positions, not just sets of ids: the result of one call is not that of another."""
    model = Step(0, "model", "chat", conversation("call_x", "call_y"), {"role": "assistant", "content": "done"})
    swapped = conversation("call_0", "call_1")
    swapped["messages"][2]["tool_call_id"], swapped["messages"][3]["tool_call_id"] = "call_1", "call_0"
    answerer = frozen(model, kinds=ALL)
    with pytest.raises(ReplayHalt):
        answerer.answer(Call("model", "chat", swapped))


def test_a_call_that_was_cut_off_answers_nothing() -> None:
    """Whether it took effect is unknown, so nobody may be told that it did."""
    answerer = frozen(tool_step(0, "pay", {}, None, attributes={"unfinished": True}))
    with pytest.raises(ReplayHalt):
        answerer.answer(call("pay"))


def test_the_clock_is_told_when_an_answer_came() -> None:
    """A frozen world's time is that of the recorded answers."""
    seen: list[float] = []
    answerer = Frozen(FixtureIndex([tool_step(3, "a")], TOOLS), on_answer=seen.append)
    answerer.answer(call("a"))
    assert seen == [tool_step(3, "a").ended_at]


@pytest.mark.parametrize(
    ("recorded", "asked", "hit"),
    [("gpt-4o", "gpt-4o", True), ("gpt-4o-2024-08-06", "gpt-4o", True), ("gpt-4o", "gpt-4o-mini", False)],
)
def test_another_model_is_another_question(recorded: str, asked: str, hit: bool) -> None:
    """A swapped model is never answered from the old one's recording; a release date makes no difference."""
    request: dict[str, Any] = {"messages": [{"role": "user", "content": "go"}]}
    answerer = frozen(Step(0, "model", "chat", request, {"role": "assistant"}, model=recorded), kinds=ALL)
    question = Call("model", "chat", request, model=asked)
    if hit:
        assert answerer.answer(question) is not None
        return
    with pytest.raises(ReplayHalt, match="/model: recorded 'gpt-4o', got 'gpt-4o-mini'"):
        answerer.answer(question)


def imported(request: dict[str, Any], **fields: Any) -> Frozen:
    """A replay over one model call from a source that tells no more than `request`."""
    return frozen(Step(0, "model", "chat", request, {"role": "assistant", "content": "done"}, **fields), kinds=ALL)


ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "go"}]}
WHOLE: dict[str, Any] = {**ASKED, "tools": [{"name": "pay"}], "params": {"temperature": 0}}


@pytest.mark.parametrize("known", [ASKED, {**ASKED, "tools": WHOLE["tools"]}, WHOLE])
@pytest.mark.parametrize("model", [None, "gpt-4o"])
def test_what_an_import_does_not_tell_is_not_compared(known: dict[str, Any], model: str | None) -> None:
    """An agent always names a model and its tools; a chat log tells neither."""
    assert imported(known, model=model).answer(Call("model", "chat", WHOLE, model="gpt-4o")) is not None


@pytest.mark.parametrize(
    ("known", "fields", "path"),
    [
        ({**ASKED, "tools": [{"name": "burn"}]}, {}, "/tools/0/name"),
        ({"messages": [{"role": "user", "content": "stop"}]}, {}, "/messages/0/content"),
        (ASKED, {"model": "gpt-4o-mini"}, "/model"),
        (ASKED, {"model": "gpt-4o", "attributes": {"wire": "openai_chat"}}, "/tools"),
    ],
    ids=["tools", "messages", "model", "recorded on the wire"],
)
def test_what_is_told_must_agree(known: dict[str, Any], fields: dict[str, Any], path: str) -> None:
    """A call that was seen on the wire told everything: what it lacks was not asked."""
    answerer = imported(known, **fields)
    with pytest.raises(ReplayHalt):
        answerer.answer(Call("model", "chat", WHOLE, model="gpt-4o"))
    assert path in [one.path for one in answerer.misses[0].differences]


def search(arguments: Any, name: str = "search") -> Call:
    """A retrieval."""
    return Call("retrieval", name, arguments)


def found(arguments: Any) -> Frozen:
    """A replay over one recorded retrieval."""
    return frozen(Step(0, "retrieval", "search", arguments, [{"id": "a"}]), kinds=frozenset({"retrieval"}))


@pytest.mark.parametrize("recorded", ["terms", {"query": "terms"}])
@pytest.mark.parametrize(
    "asked",
    [search({"query": "terms", "k": 5}), search({"query": "terms"}, "my_retriever"), search("terms")],
    ids=["more arguments", "another name", "bare"],
)
def test_a_retrieval_is_found_by_its_query(recorded: Any, asked: Call) -> None:
    """Sources tell the query, and often neither the other arguments nor the name that the code has for it."""
    assert output(found(recorded).answer(asked)) == [{"id": "a"}]


@pytest.mark.parametrize("asked", [search({"query": "other", "k": 3}), search({"query": "terms", "k": 5})])
def test_a_retrieval_of_another_question_is_a_miss(asked: Call) -> None:
    """Another query, or other arguments than those that are recorded."""
    with pytest.raises(ReplayHalt):
        found({"query": "terms", "k": 3}).answer(asked)


@pytest.mark.parametrize("asked", [search({"query": "terms"}, "search_private"), search({"query": "terms", "k": 5})])
def test_a_retriever_that_evalkit_recorded_is_found_as_it_was_called(asked: Call) -> None:
    """Its name and arguments are the code's own: another retriever finds other documents."""
    recorded = Step(0, "retrieval", "search", {"query": "terms"}, [{"id": "a"}])
    answerer = frozen(recorded, kinds=frozenset({"retrieval"}), own=True)
    assert output(answerer.answer(search({"query": "terms"}))) == [{"id": "a"}]
    with pytest.raises(ReplayHalt):
        answerer.answer(asked)
