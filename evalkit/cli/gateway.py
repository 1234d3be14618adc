"""`evalkit gateway`: a case's model and tools at a local address, for an agent that somebody else starts."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.canonical import exact_text
from evalkit.cli.common import as_json, echo_json, project, say, terminal_width
from evalkit.cli.model_options import model_options, planned
from evalkit.playback.modes import SUITE_MODES
from evalkit.trace.visible import one_line

if TYPE_CHECKING:
    from evalkit.app.replay_plan import Plan
    from evalkit.playback.gateway.address import Address
    from evalkit.playback.gateway.gateway import Gateway
    from evalkit.playback.model import Replay

__all__ = ["gateway"]


@click.command()
@click.argument("case", required=False)
@click.option("--mode", type=click.Choice(SUITE_MODES), help="What answers; exact, or what the other options ask for.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; a free one by default.")
@click.option("--token", default="", help="First part of the session's paths; drawn anew by default.")
@click.option("--env-file", type=click.Path(path_type=Path), help="Write the variables to this file, for a shell.")
@click.option("--mcp-stdio", is_flag=True, help="Serve the tools on standard input and output, too; end with it.")
@click.option("--session", default=None, help="With --mcp-stdio and no CASE: the MCP URL of the session to join.")
@model_options
@as_json
@click.pass_context
def gateway(
    context: click.Context,
    /,
    case: str | None,
    port: int,
    token: str,
    env_file: Path | None,
    mcp_stdio: bool,
    session: str | None,
    strict: bool,
    out: Path | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Serve CASE's recorded model and tools to an agent in any language: one replay, judged when it ends.

    Prints the variables to set: OpenAI's and Anthropic's APIs, and MCP. Ends with ctrl-C (or SIGTERM), then says what
    `evalkit replay` says; the exit codes are the same.
    """
    if case is None:
        _join(session or os.environ.get("EVALKIT_MCP_URL", ""), mcp_stdio)
        return
    if session is not None:
        raise click.UsageError("--session joins a session that there is; CASE starts one")
    from evalkit.app.gateway import gateway_replay
    from evalkit.app.replay import check_free, write_traces
    from evalkit.playback.targets.reference import WHOEVER

    if token and not token.replace("-", "").isalnum():
        raise click.BadParameter("letters, digits and dashes only", param_hint="--token")
    settings = project()
    if out is not None:
        check_free(out)
    plan = planned(case, settings, target=WHOEVER, **wanted)
    apart = as_json or mcp_stdio  # standard output is for data
    try:
        with _ended_by_signal() as ended:
            replay = gateway_replay(
                plan, settings, port=port, token=token or secrets.token_urlsafe(12).replace("_", "-"), strict=strict,
                opened=lambda address: _opened(address, plan.case.trace.trace.input, env_file, apart),
                wait=lambda served: _wait(served, ended, mcp_stdio),
            )  # fmt: skip
    finally:
        if env_file is not None:
            env_file.unlink(missing_ok=True)
    _tell(plan, replay, as_json=as_json, apart=apart)
    if out is not None:
        write_traces([replay], out)
        say(f"wrote {out}", err=True)
    context.exit({"passed": 0, "failed": 1}.get(replay.status, 3))


def _tell(plan: Plan, replay: Replay, *, as_json: bool, apart: bool) -> None:
    """What the session came to."""
    from evalkit.app.replay import compared
    from evalkit.app.show_replays import comparison_json, comparison_line, replay_json, replay_lines

    shown = compared(plan, replay)
    if as_json:
        echo_json({**replay_json(replay), **comparison_json(shown)})
        return
    for line in (*replay_lines(replay), comparison_line(shown)):
        say(line, err=apart)


def _join(session: str, mcp_stdio: bool) -> None:
    """Standard input and output, led to a session that another evalkit serves."""
    if not mcp_stdio or not session:
        raise click.UsageError("name a CASE, or join a session: --mcp-stdio --session URL (or EVALKIT_MCP_URL)")
    from evalkit.playback.gateway.stdio import answer_lines, session_reply

    answer_lines(session_reply(session))


def _opened(address: Address, given: Any, env_file: Path | None, apart: bool) -> None:
    from evalkit.app.gateway import environment_lines, write_environment

    for line in environment_lines(address):
        say(line, err=apart)
    if env_file is not None:
        write_environment(env_file, address)
    say(f"the case's input: {one_line(exact_text(given).decode(), terminal_width() - 18)}", err=True)
    say(f"serving at {address.url} until ctrl-C; POST the agent's answer to {address.url}/output", err=True)


def _wait(served: Gateway, ended: threading.Event, mcp_stdio: bool) -> None:
    """Until a signal, or the end of standard input where MCP is spoken over it."""
    if mcp_stdio:
        from evalkit.playback.gateway.stdio import answer_lines

        def speak() -> None:
            try:
                answer_lines(served.reply)
            finally:
                ended.set()

        threading.Thread(target=speak, daemon=True).start()
    ended.wait()


@contextmanager
def _ended_by_signal() -> Iterator[threading.Event]:
    """An event that ctrl-C and SIGTERM set, in place of what they do."""
    ended = threading.Event()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
