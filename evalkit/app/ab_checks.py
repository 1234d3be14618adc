"""Before an A/B run: what would else come to light when one arm's calls are paid for."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection

from evalkit.app.run_plan import models_asked
from evalkit.errors import ConfigError, EvalkitError
from evalkit.forks import can_fork, die_with_parent, forking
from evalkit.playback.endpoint.prices import price_of
from evalkit.playback.targets.make import make_target
from evalkit.suite.case_ref import CaseRef, targets_of
from evalkit.suite.executors.raised import error_from, error_text
from evalkit.suite.model import Suite
from evalkit.verdict.ab import Metric
from evalkit.verdict.ab_metrics import OF_LIVE_MODELS

__all__ = ["check_primary", "check_targets"]


def check_primary(primary: Metric, suites: Sequence[Suite], cases: Sequence[CaseRef]) -> None:
    """Refuses a metric to decide by that neither arm will have, whatever the samples come to.

    Raises:
        ConfigError: not both arms ask a live model, or one of their models has no price.
    """
    if primary not in OF_LIVE_MODELS:
        return
    where = f"--primary {primary}"
    if not all(suite.live for suite in suites):
        cure = "say what model is asked (--b model=..., or mode=live-model), or leave --primary out"
        raise ConfigError(f"not both arms ask a live model, so there is no {primary} to compare", where, cure)
    if primary != "cost":
        return
    for suite in suites:
        unpriced = [model for model in models_asked(suite, cases) if price_of(model, suite.prices) is None]
        if unpriced:
            name = unpriced[0] or "the model"
            cure = f'add [prices."{name}"] input = ..., output = ... (dollars a million tokens) to evalkit.toml'
            raise ConfigError(f"cost is to decide, and {name} has no price", where, cure)


def check_targets(suites: Sequence[Suite], cases: Sequence[CaseRef]) -> None:
    """Loads the arms' targets, where they have different ones, in a process that ends at once.

    Where nothing can be forked, or a sandbox is to hold the agents, their turns will tell.

    Raises:
        ConfigError: one of them can't be loaded.
    """
    by_arm = [sorted({suite.target or target for target in targets_of(cases)} - {""}) for suite in suites]
    if by_arm[0] == by_arm[1] or any(suite.sandbox for suite in suites) or not can_fork():
        return
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    references = sorted({reference for several in by_arm for reference in several})
    process = context.Process(target=_load, args=(references, theirs, os.getpid()), daemon=True)
    with forking():
        process.start()
    theirs.close()
    raised = b""
    with contextlib.suppress(EOFError):  # nothing was raised, or loading an agent ended the process
        raised = ours.recv_bytes()
    process.join()
    if raised:
        raise error_from(raised)


def _load(references: Sequence[str], pipe: Connection, parent: int) -> None:
    die_with_parent(parent)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what an agent says while it is loaded is heard when it is replayed
        os.dup2(nowhere, stream)
    try:
        for reference in references:
            make_target(reference)
    except EvalkitError as error:
        pipe.send_bytes(error_text(error))
