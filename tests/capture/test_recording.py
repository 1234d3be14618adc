"""`record`: one run of an agent, from the block that runs it to the file."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextvars import Context
from itertools import count
from pathlib import Path

import httpx
import pytest

from evalkit.capture.environment import git_commit
from evalkit.capture.recording import Recording, as_is, record
from evalkit.capture.seam import current_session
from evalkit.capture.tools import tool
from evalkit.check.model import Check
from evalkit.errors import InputError, UsageError
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from evalkit.trace.evidence import evidence
from evalkit.trace.model import Step
from evalkit.trace.modes import closed_modes
from tests.build import a_case
from tests.capture.scripted_server import ScriptedServer, completion, json_reply, stream_reply
from tests.capture.test_writer import read


@tool(effect="write")
def refund(order: str) -> dict[str, str]:
    """A tool that works."""
    return {"refunded": order}


@tool(effect="read")
def broken(order: str) -> None:
    """A tool that does not."""
    raise LookupError(order)


def recording(path: Path, name: str | None = None) -> Recording:
    """A recording with a clock that counts and values as they are."""
    ticks = count(100)
    return record(path, name=name, input={"q": 1}, sanitizer=as_is, clock=lambda: float(next(ticks)))


def test_a_run_is_recorded_whole(tmp_path: Path) -> None:
    """Input, user's turns, tools, notes, output and times stand in the file."""
    with recording(tmp_path / "deep" / "run.trace") as run:
        run.user("refund order 7")
        refund("7")
        run.note("approval", "manager", input={"order": "7"}, output={"by": "Ada"})
        run.output = {"answer": ("done",)}
    trace = read(tmp_path / "deep" / "run.trace")
    assert (trace.name, trace.input, trace.output) == ("run", {"q": 1}, {"answer": ["done"]})
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("other", "user_message"),
        ("tool", "refund"),
        ("approval", "manager"),
    ]
    assert trace.steps[0].output == {"role": "user", "content": "refund order 7"}
    assert trace.steps[1].effect_source == "declared"
    assert (trace.status, trace.started_at) == ("completed", 100.0)
    assert trace.gaps == ()
    assert current_session() is None


def test_an_exception_is_recorded_and_goes_on(tmp_path: Path) -> None:
    """The run's error and the tool's are kept with their types; the caller meets the exception itself."""
    with pytest.raises(LookupError, match="order-9"), recording(tmp_path / "run.trace"):
        broken("order-9")
    trace = read(tmp_path / "run.trace")
    assert trace.status == "failed"
    assert trace.error is not None
    assert (trace.error.type, trace.error.message, trace.error.module) == ("LookupError", "order-9", "builtins")
    assert trace.steps[0].error is not None
    assert trace.steps[0].error.type == "LookupError"


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (None, "completed"), (3, "failed")])
def test_an_exit_is_judged_by_its_code(tmp_path: Path, code: int | None, status: str) -> None:
    """`sys.exit(0)` is a good end; any other code is a failure."""
    with pytest.raises(SystemExit), recording(tmp_path / "run.trace"):
        raise SystemExit(code)
    assert read(tmp_path / "run.trace").status == status


def test_an_async_run_is_recorded(tmp_path: Path, server: ScriptedServer) -> None:
    """`async with` records model calls and tools of concurrent tasks."""
    server.will(json_reply(completion()))

    async def agent() -> None:
        async with recording(tmp_path / "run.trace") as run, httpx.AsyncClient() as sender:
            body = {"model": "m", "messages": []}
            urls = [f"{server.url}/chat/completions"] * 3
            await asyncio.gather(*(sender.post(url, json=body) for url in urls))
            await asyncio.to_thread(refund, "1")
            run.output = "ok"

    asyncio.run(agent())
    trace = read(tmp_path / "run.trace")
    assert [step.kind for step in trace.steps] == ["model", "model", "model", "tool"]
    assert trace.steps[0].usage is not None
    assert trace.output == "ok"


def test_a_stream_left_open_is_said_to_have_no_end(tmp_path: Path, server: ScriptedServer) -> None:
    """A run that ends amid a stream does not pretend that the call was answered."""
    server.will(stream_reply({"content": "Hello"}))
    with httpx.Client() as sender, recording(tmp_path / "run.trace"):
        request = sender.build_request("POST", f"{server.url}/chat/completions", json={"messages": [], "stream": True})
        response = sender.send(request, stream=True)
    response.close()
    trace = read(tmp_path / "run.trace")
    assert trace.status == "completed"
    assert "no end" in trace.gaps[0]


def test_the_environment_is_noted(tmp_path: Path) -> None:
    """The header says what the run ran on."""
    with recording(tmp_path / "run.trace"):
        pass
    noted = read(tmp_path / "run.trace").attributes["environment"]
    assert {"python", "os", "evalkit", "git_commit", "packages"} <= set(noted)
    assert len(noted["packages"]) == 64


def test_an_existing_file_is_refused_before_the_agent_runs(tmp_path: Path) -> None:
    """The block is not entered, and nothing is left active."""
    (tmp_path / "run.trace").touch()
    with pytest.raises(InputError, match="exists"), recording(tmp_path / "run.trace"):
        raise AssertionError("entered")
    assert current_session() is None


def test_a_recording_is_one_run(tmp_path: Path) -> None:
    """Using it twice, noting outside of it, or noting an unknown kind is a usage error."""
    run = recording(tmp_path / "run.trace")
    with pytest.raises(UsageError, match="not running"):
        run.user("too early")
    with run, pytest.raises(UsageError, match="unknown"):
        run.note("feeling", "joy")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(UsageError, match="used before"), run:
        raise AssertionError("entered")


@pytest.mark.parametrize("layout", ["detached", "loose", "packed", "worktree"])
def test_the_commit_is_read_from_files(tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every layout of a repository gives its commit, from a folder below it too."""
    commit = "a" * 40
    git = tmp_path / ".git"
    if layout == "worktree":
        git.write_text("gitdir: main/.git/worktrees/w\n")
        git, main = tmp_path / "main/.git/worktrees/w", tmp_path / "main/.git"
        git.mkdir(parents=True)
        (git / "commondir").write_text("../..\n")
        (main / "refs/heads").mkdir(parents=True)
        (main / "refs/heads/x").write_text(f"{commit}\n")
    else:
        git.mkdir()
    if layout == "loose":
        (git / "refs/heads").mkdir(parents=True)
        (git / "refs/heads/x").write_text(f"{commit}\n")
    if layout == "packed":
        (git / "packed-refs").write_text(f"# pack-refs\n{commit} refs/heads/x\n")
    (git / "HEAD").write_text(f"{commit}\n" if layout == "detached" else "ref: refs/heads/x\n")
    below = tmp_path / "src"
    below.mkdir()
    assert git_commit(below) == commit
    monkeypatch.chdir(below)
    assert git_commit(Path()) == commit


def test_a_folder_outside_of_a_repository_has_no_commit(tmp_path: Path) -> None:
    """No repository, and a broken one, give None."""
    assert git_commit(tmp_path) is None
    (tmp_path / ".git").write_text("nonsense")
    assert git_commit(tmp_path) is None


class Handle:
    """What JSON has no form for."""


@tool(effect="read")
def connect(host: str) -> object:
    """A handle, keys that are one as texts, and a value without end."""
    endless: list[object] = []
    endless.append(endless)
    return {"endless": endless, "keys": {1: "a", "1": "b"}, "handle": Handle()}


@tool(effect="read")
def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    return {"answer": f"hidden {order}"}


def test_what_of_a_result_can_not_be_written_is_told(tmp_path: Path) -> None:
    """Nothing is called complete that a replay would answer otherwise than the tool did."""
    with recording(tmp_path / "a.trace"):
        connect("db")
    found = evidence(read(tmp_path / "a.trace"))
    assert found.score < 1
    assert sorted(found.gaps) == [
        "step 0: the result held a builtins.list, of which only the type is kept",
        f"step 0: the result held a {__name__}.Handle, of which only the type is kept",
        "step 0: the result held keys that are one as texts",
    ]


def test_a_withheld_result_is_missing_and_closes_the_frozen_replay(tmp_path: Path) -> None:
    """A result that could not be sanitized is not an answer of null; what was written before it stays."""

    def picky(step: Step) -> Step:
        if step.output is not None:
            raise ValueError("hidden")
        return step

    with record(tmp_path / "a.trace", sanitizer=picky) as run:
        look_up("A-7")
        run.output = "done"
    trace = read(tmp_path / "a.trace")
    assert trace.steps[0].input == {"order": "A-7"}
    assert "hidden" not in (tmp_path / "a.trace").read_text("utf-8")
    closed = closed_modes(trace)["exact"]
    assert "tool result missing" in closed
    gaps = evidence(trace).gaps
    assert any(gap.startswith("step 0: input, output and error are withheld") for gap in gaps)
    assert any(gap.startswith("at the run's end input, output and error are withheld") for gap in gaps)


def test_the_name_of_a_recording_is_sanitized(tmp_path: Path) -> None:
    """As everything in it is."""
    with record(tmp_path / "a.trace", name="for qiwex@barlo.io") as run:
        run.output = 1
    assert "qiwex" not in (tmp_path / "a.trace").read_text("utf-8")


async def _fetch(order: str) -> dict[str, str]:
    await asyncio.sleep(0)
    return refund(order)


@tool(effect="read")
def behind_a_decorator(order: str) -> Awaitable[dict[str, str]]:
    """As decorators that know nothing of async functions make of them."""
    return _fetch(order)


@tool(effect="read")
def as_a_task(order: str) -> asyncio.Future[dict[str, str]]:
    """One that is under way already."""
    return asyncio.ensure_future(_fetch(order))


@tool(effect="read")
def that_fails(order: str) -> Awaitable[dict[str, str]]:
    """One that raises when it is awaited."""

    async def fail() -> dict[str, str]:
        raise LookupError(order)

    return fail()


class Reference:
    """What some libraries give: to be awaited, or asked in other ways."""

    value = 7

    def __await__(self) -> Generator[None, None, int]:
        yield from ()
        return self.value


@tool(effect="read")
def by_reference() -> Reference:
    """One that may be awaited."""
    return Reference()


def test_an_awaitable_of_a_plain_function_is_recorded_when_it_is_done(tmp_path: Path) -> None:
    """Its result stands in the step, and what it calls is inside of it."""

    async def run() -> list[dict[str, str]]:
        with recording(tmp_path / "a.trace"):
            return [await behind_a_decorator("A-1"), await as_a_task("A-2")]

    results = asyncio.run(run())
    trace = read(tmp_path / "a.trace")
    assert [step.output for step in trace.steps if step.name in ("behind_a_decorator", "as_a_task")] == results
    assert trace.steps[1].parent == 0
    assert evidence(trace).gaps == ()


def test_what_a_plain_function_gives_to_await_is_of_its_kind_in_a_replay(tmp_path: Path) -> None:
    """A task is one again, and an error is raised where it is awaited: agents gather both."""

    async def gathered() -> list[object]:
        done, _ = await asyncio.wait([as_a_task("A-2")])
        failed = await asyncio.gather(that_fails("A-3"), return_exceptions=True)
        return [*(one.result() for one in done), *map(repr, failed)]

    async def run() -> list[object]:
        with recording(tmp_path / "a.trace"):
            return await gathered()

    results = asyncio.run(run())
    done = prepare(a_case(read(tmp_path / "a.trace"), checks=[Check("completed", {})])).replay(PythonTarget(gathered))
    assert (done.trace.error, done.trace.output) == (None, results)


def test_a_recording_leaves_what_can_be_awaited_and_more_as_it_is(tmp_path: Path) -> None:
    """Its user may need its other sides; the trace says what it lacks."""
    with recording(tmp_path / "a.trace"):
        assert by_reference().value == 7
    assert "Reference" in " ".join(evidence(read(tmp_path / "a.trace")).gaps)


def test_a_future_of_a_loop_that_does_not_run_yet_is_recorded(tmp_path: Path) -> None:
    """As code has it that drives a loop itself."""
    loop = asyncio.new_event_loop()

    @tool(effect="read")
    def begun() -> Awaitable[dict[str, str]]:
        return loop.create_task(_fetch("A-4"))

    with recording(tmp_path / "a.trace"):
        result = loop.run_until_complete(begun())
    loop.close()
    assert result in [step.output for step in read(tmp_path / "a.trace").steps]


def test_a_generator_that_ends_in_another_context_breaks_nothing_and_says_so(tmp_path: Path) -> None:
    """As a server's threads do that go through a streamed answer, each for one piece."""

    def streamed() -> Generator[dict[str, str], None, None]:
        with recording(tmp_path / "a.trace") as run:
            for order in "AB":
                yield refund(order)
            run.output = "sent"

    pieces = streamed()
    said = [Context().run(next, pieces, None) for _ in range(3)]
    assert said == [{"refunded": "A"}, {"refunded": "B"}, None]
    assert current_session() is None
    trace = read(tmp_path / "a.trace")
    assert (trace.status, trace.output) == ("completed", "sent")
    assert ["another context" in gap for gap in trace.gaps] == [True]


def test_a_generator_that_is_left_ends_its_recording(tmp_path: Path) -> None:
    """An event loop closes it in a task of its own."""

    async def streamed() -> AsyncGenerator[dict[str, str], None]:
        async with recording(tmp_path / "a.trace"):
            for order in "AB":
                yield refund(order)

    async def run() -> dict[str, str]:
        async for piece in streamed():
            return piece
        return {}

    assert asyncio.run(run()) == {"refunded": "A"}
    trace = read(tmp_path / "a.trace")
    assert (trace.status, len(trace.steps)) == ("failed", 1)


@tool(effect="read")
def in_a_process() -> int | None:
    """A tool that needs a process for its work."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()
    return process.exitcode


def test_processes_that_a_run_started_are_told(tmp_path: Path) -> None:
    """What they call is not in its file; a tool's own are its body's affair."""
    with recording(tmp_path / "a.trace"):
        in_a_process()
    with recording(tmp_path / "b.trace"):
        in_a_process.__wrapped__()  # type: ignore[attr-defined]  # the function itself
    assert read(tmp_path / "a.trace").gaps == ()
    (gap,) = read(tmp_path / "b.trace").gaps
    assert "further processes were started (1)" in gap
    assert "b.trace.PID" in gap


class Refused(Exception):
    """One with more to say than its message."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(message)
        self.code = code


@tool(effect="write")
def pay(code: int | None) -> None:
    """Is refused."""
    raise Refused("no funds", code)


@pytest.mark.parametrize(("code", "gaps"), [(7, 1), (None, 0)])
def test_what_an_error_held_beside_its_message_is_a_gap(code: int | None, gaps: int, tmp_path: Path) -> None:
    """An agent that asks for it finds none in a replay; values may be secrets, so names are told alone."""
    with recording(tmp_path / "a.trace"), pytest.raises(Refused):
        pay(code)
    (step,) = read(tmp_path / "a.trace").steps
    told = step.attributes.get("gaps", [])
    assert len(told) == gaps
    assert all("the error's code is not recorded" in gap for gap in told)
