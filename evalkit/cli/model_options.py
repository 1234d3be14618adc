"""The options that say what a replay's model is, shared by the commands that replay one case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.common import options

if TYPE_CHECKING:
    from evalkit.app.replay_plan import Plan
    from evalkit.app.settings import Settings

__all__ = ["BUDGET", "ON_MISS", "model_options", "planned"]

BUDGET = "Stop there: calls=N,tokens=N,cost_usd=N,seconds=N."
ON_MISS = "For calls without a recorded answer: NAME*=fail|error|stub|stub:JSON|live. The sample counts as missed."

_FILE = click.Path(path_type=Path, dir_okay=False)
model_options = options(
    click.option("--base-url", default=None, help="The live model's OpenAI-compatible endpoint."),
    click.option("--model", help="Ask the live model by this name."),
    click.option("--system-prompt", type=_FILE, help="A file with the system prompt to use instead."),
    click.option("--temperature", type=click.FloatRange(0)),
    click.option("--tools", type=_FILE, help="A JSON file with the list of tool definitions to use instead."),
    click.option("--extra-body", default="", help="A JSON object of further fields for the model's request."),
    click.option(
        "--fault", multiple=True, help="tool=NAME*,kind=error|timeout|delay|wrong_value|partial_stream,rate=0.3"
    ),
    click.option(
        "--what-if",
        multiple=True,
        metavar="NAME=THEN",
        help="An approval, policy or retrieval: refused, approved, JSON, @FILE or module:function.",
    ),
    click.option("--on-miss", multiple=True, metavar="RULE", help=ON_MISS),
    click.option("--budget", default="", metavar="LIMITS", help=BUDGET),
    click.option("--strict", is_flag=True, help="Calls must come in the recorded order."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--out", type=click.Path(path_type=Path), help="Write the replays' traces to this new file."),
    click.option("--actor", default="", help="Who asks a live model; EVALKIT_ACTOR or USER by default."),
    click.option("--reason", default="", help="Why a live model is asked."),
)


def planned(
    case: str,
    settings: Settings,
    *,
    model: str | None,
    system_prompt: Path | None,
    temperature: float | None,
    tools: Path | None,
    extra_body: str,
    fault: tuple[str, ...],
    what_if: tuple[str, ...],
    on_miss: tuple[str, ...],
    budget: str,
    **wanted: Any,
) -> Plan:
    """The plan that the options ask for; raises what `plan_replay` raises."""
    from evalkit.app.replay_options import read_overrides
    from evalkit.app.replay_plan import plan_replay
    from evalkit.playback.endpoint.budget import NO_LIMITS, parse_budget
    from evalkit.playback.faults import parse_fault
    from evalkit.playback.miss_rules import parse_rule
    from evalkit.playback.what_if import parse_what_if

    overrides = read_overrides(model, system_prompt, temperature, tools, extra_body)
    faults = [parse_fault(text) for text in fault]
    rules = [parse_rule(text) for text in on_miss]
    limits = parse_budget(budget) if budget else NO_LIMITS
    supposed = [parse_what_if(text) for text in what_if]
    return plan_replay(
        case, settings, overrides=overrides, faults=faults, what_if=supposed, on_miss=rules, budget=limits, **wanted
    )
