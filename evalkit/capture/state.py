"""What an agent writes down as it goes: its state, and the lives of its side effects.

These are no calls: nothing is asked, so nothing is answered in a replay, where the same code notes the same steps.
"""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias

from evalkit.canonical import Json
from evalkit.capture.plain import plain
from evalkit.capture.seam import Answer, Call, current_session
from evalkit.capture.through import Shape, given, through
from evalkit.errors import UsageError
from evalkit.trace.side_effect import SIDE_EFFECT, SideEffectStatus

__all__ = ["Reconciler", "SideEffect", "side_effect", "state"]

_AS_SAID = Shape(lambda said: Answer(plain(said)), given)
Found: TypeAlias = Literal["confirmed", "failed", "unknown"]


class Reconciler(Protocol):
    """Finds out whether a side effect happened whose outcome is unknown, such as by a look into the payment API."""

    def __call__(self, name: str, key: Any, /) -> Found | tuple[Found, Any]:
        """``confirmed``, ``failed`` or, where it can't be told yet, ``unknown``; in a pair with the receipt, if any."""
        ...


def state(name: str, value: Any, *, before: Any = None) -> None:
    """Notes that a part of the agent's state was written; does nothing outside of a recording or replay.

    Args:
        name: which part, such as ``cart``.
        value: what was written.
        before: what it was before.
    """
    session = current_session()
    if session is not None:
        session.note("state", name, input=plain(value), output=plain(before))


def side_effect(name: str, *, key: Any = None, reconciler: Reconciler | None = None) -> SideEffect:
    """A side effect whose life is noted, each change of status as a step (see `trace.side_effect`).

    As a ``with`` block around the deed it is ``planned`` and ``executing`` on entering and ``confirmed`` at the end. An
    exception makes it ``unknown``: it does not tell whether the deed was done. Whoever knows says so by `confirmed`,
    `failed` or, later and from anywhere, `reconciled`.

    Do the deed inside of a tool: a replay answers tools and so never does it again.

    Args:
        name: what it does, such as ``refund``.
        key: the idempotency key under which the deed is done at most once.
        reconciler: finds out what became of it while it is unknown. With one, the block can't be entered again before
            that is known. It is asked as a tool named ``reconcile_<name>``: recorded, and answered in a replay.
    """
    return SideEffect(name, key, reconciler)


class SideEffect:
    """A side effect's life as it is lived; made by `side_effect`. Its methods do nothing outside of a recording."""

    def __init__(self, name: str, key: Any, reconciler: Reconciler | None = None) -> None:
        self._name = name
        self._key = key
        self._reconciler = reconciler
        self._status: SideEffectStatus | None = None

    def planned(self) -> None:
        """It is decided on; nothing was sent."""
        self._note("planned")

    def executing(self) -> None:
        """It is being done: from here on it may have happened."""
        self._note("executing")

    def confirmed(self, receipt: Any = None) -> None:
        """It happened; `receipt` is what proves it, such as a payment's id."""
        self._note("confirmed", receipt=receipt)

    def failed(self, reason: str | None = None) -> None:
        """It is known not to have happened."""
        self._note("failed", reason=reason)

    def unknown(self, reason: str | None = None) -> None:
        """Nobody knows whether it happened: it must be reconciled before it is tried again."""
        self._note("unknown", reason=reason)

    def reconciled(self, outcome: Literal["confirmed", "failed"], receipt: Any = None) -> None:
        """It was looked up whether it happened: ``confirmed``, or ``failed`` for not."""
        self._note("reconciled", outcome=outcome, receipt=receipt)

    def settle(self) -> Found:
        """Asks the reconciler, while the outcome is unknown, and notes what it says.

        Returns:
            ``confirmed``: it happened, and must not be done again; ``failed``: it did not, and may be; ``unknown``: it
            may be neither done again nor taken for done.

        Raises:
            UsageError: there is no reconciler, or it says something else.
            whatever the reconciler raises.
        """
        if self._reconciler is None:
            raise UsageError(
                f"side effect {self._name} has no reconciler", cure="side_effect(..., reconciler=function)"
            )
        if self._status in ("confirmed", "failed"):
            return self._status
        said = self._asked(self._reconciler)
        outcome: Found
        outcome, receipt = said if isinstance(said, list | tuple) and len(said) == 2 else (said, None)
        if outcome not in ("confirmed", "failed", "unknown"):
            raise UsageError(f"the reconciler of {self._name} said {outcome!r}", cure="confirmed, failed or unknown")
        if outcome != "unknown":
            self.reconciled(outcome, receipt)
            self._status = outcome
        return outcome

    def _asked(self, reconciler: Reconciler) -> Any:
        """What the reconciler says, through the seam where there is one."""
        do = functools.partial(reconciler, self._name, self._key)
        session = current_session()
        if session is None:
            return do()
        asked = {"name": self._name, "key": plain(self._key)}
        return through(session.begin(Call("tool", f"reconcile_{self._name}", asked, "read")), _AS_SAID, do)

    def __enter__(self) -> Self:
        if self._reconciler is not None and self._status in ("executing", "unknown", "confirmed"):
            found = self.settle()
            if found != "failed":
                what = "was done already" if found == "confirmed" else "may have been done: nobody knows yet"
                raise UsageError(f"side effect {self._name} {what}", cure="ask settle() before each try")
        if self._status is None:
            self.planned()
        self.executing()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if self._status != "executing":  # the block said how it ended
            return
        if error is None:
            self.confirmed()
        else:
            self.unknown(type(error).__name__)

    def _note(self, status: SideEffectStatus, **told: Any) -> None:
        before, self._status = self._status, status
        session = current_session()
        if session is not None:
            fields = {"status": status, "key": self._key, **told}
            given: dict[str, Json] = {name: plain(value) for name, value in fields.items() if value is not None}
            session.note("state", f"{SIDE_EFFECT}{self._name}", input=given, output=before)
