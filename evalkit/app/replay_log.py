"""The log of replays that asked a live model: ``audit.jsonl`` among the reports, chained by hashes as evidence's is.

A line is written before anything is asked, so that what can't be logged does not happen.
"""

from __future__ import annotations

from evalkit.app.environment import now_utc
from evalkit.app.keys import output_sanitizer
from evalkit.app.replay_plan import Plan
from evalkit.app.settings import Settings
from evalkit.canonical import Json, digest

__all__ = ["log_replay"]

_TOLD = ("replay_id", "mode", "case", "target", "endpoint", "from_step", "repeat", "seed")


def log_replay(plan: Plan, settings: Settings) -> None:
    """Notes who asks which live model, why, and about what; of a change to the request its name and hash.

    Raises:
        IntegrityError: the log's last line is torn or not of its form.
    """
    if not plan.live:
        return
    from evalkit.vault.audit import append_audit  # replays without a live model need not load it

    manifest = plan.manifest
    facts: dict[str, Json] = {name: manifest[name] for name in _TOLD}
    facts["changes"] = {name: digest(value) for name, value in plan.ready.overrides.json().items()}
    facts["simulated"] = [*(fault.tool for fault in plan.ready.faults), *(one.name for one in plan.ready.what_if)]
    reason = output_sanitizer(settings).text(str(manifest["reason"]))
    append_audit(settings.reports, "replay", actor=str(manifest["actor"]), reason=reason, at=now_utc(), facts=facts)
