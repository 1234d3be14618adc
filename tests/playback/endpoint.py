"""The whole loop by public names: an agent run against a real endpoint, the case of that run, and its replay."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai

import evalkit
from evalkit.capture.recording import as_is
from evalkit.case.model import Case
from evalkit.case.store import find_case
from evalkit.playback.model import Replay
from evalkit.trace.model import Trace
from tests.capture.scripted_server import ScriptedServer

__all__ = ["Loop"]


@dataclass
class Loop:
    """What the tests of failure kinds do; a project must be current.

    Attributes:
        server: the model endpoint. It stays up in replays, so that a call which escapes is seen.
        folder: of traces and cases.
    """

    server: ScriptedServer
    folder: Path

    def client(self, **options: Any) -> openai.OpenAI:
        """The real SDK, led to the endpoint."""
        return openai.OpenAI(**self._options(options))

    def async_client(self, **options: Any) -> openai.AsyncOpenAI:
        """The real asynchronous SDK, led to the endpoint."""
        return openai.AsyncOpenAI(**self._options(options))

    def ask(self, *messages: Any, **options: Any) -> Any:
        """One completion; a text stands for a user's message."""
        with self.client() as sdk:
            return sdk.chat.completions.create(
                **{"model": "gpt-test", "messages": [message_of(one) for one in messages], **options}
            )

    def say(self, *messages: Any, **options: Any) -> str:
        """The text of one completion."""
        return str(self.ask(*messages, **options).choices[0].message.content)

    def record(
        self, agent: Callable[..., Any], given: Any = None, name: str = "run", sanitizer: Any = as_is, **options: Any
    ) -> Trace:
        """The trace of one run of an agent; values as they are unless told otherwise. What the agent raises is kept."""
        path = self.folder / f"{name}.trace"
        recording = evalkit.record(path, input=given, sanitizer=sanitizer, **options)
        with contextlib.suppress(Exception), recording as run:  # what is raised is the run's error in the trace
            run.output = agent(given)
        (trace,) = evalkit.load_traces(path)
        return trace

    def case(self, trace: Trace, name: str = "kind") -> Case:
        """A case of a trace, as its file holds it. It expects an answer that the run never gave."""
        evalkit.ingest(trace, expect={"output": {"never": "this"}}, case_id=name, new=True)
        return evalkit.read_case(find_case(name, self.folder / "cases"))

    def replay(self, case: Case, agent: Callable[..., Any], **options: Any) -> Replay:
        """A frozen replay; it fails when anything reached the endpoint."""
        before = len(self.server.requests)
        done = evalkit.replay(case, agent, **options)
        assert len(self.server.requests) == before, "a replay reached the endpoint"
        assert done.counts.live_model == done.counts.tool_bodies == 0
        return done

    def again(self, agent: Callable[..., Any], given: Any = None, **options: Any) -> Replay:
        """A run recorded, made a case of, and replayed without a miss."""
        trace = self.record(agent, given, **options)
        done = self.replay(self.case(trace), agent)
        assert (done.misses, done.trace.error) == ((), None), done.reason
        assert done.trace.output == trace.output
        return done

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"base_url": self.server.url, "api_key": "sk-test", "max_retries": 0, **options}


def message_of(one: Any) -> Any:
    """A message; a text is a user's."""
    return {"role": "user", "content": one} if isinstance(one, str) else one
