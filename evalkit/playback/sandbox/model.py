"""What a sandbox allows, which layers held, and what came of a run in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from evalkit.playback.model import LAYERS, RELAYED, UNSAFE

__all__ = ["Ended", "Layers", "Policy", "Status"]

Status: TypeAlias = Literal["done", "raised", "died", "late", "refused"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a sandboxed process may do.

    Attributes:
        readable: files and folders (with all that is in them) that may be read.
        keep: patterns of environment variables that stay, beside the harmless ones of `environment.HARMLESS`.
        memory: bytes of address space that the process may add to what it has when it is confined.
        file_size: bytes that a file may grow to.
        open_files: descriptors.
        cpu_s: seconds of processor time; 0 for no limit.
        unsafe: run even where Landlock or seccomp is missing.
    """

    readable: tuple[Path, ...] = ()
    keep: tuple[str, ...] = ()
    memory: int = 8 << 30
    file_size: int = 1 << 30
    open_files: int = 1024
    cpu_s: int = 0
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class Layers:
    """Which of the kernel's layers hold.

    Attributes:
        limits: rlimits on memory, file size, open files and core dumps.
        landlock: ABI version, 0 where it is missing.
        seccomp: the system call filter.
        network: a network namespace without any interface.
        missing: layer -> why it does not hold.
    """

    limits: bool = False
    landlock: int = 0
    seccomp: bool = False
    network: bool = False
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def safe(self) -> bool:
        """Whether what a hostile agent can do is bounded: Landlock and seccomp hold."""
        return self.landlock > 0 and self.seccomp

    @property
    def names(self) -> tuple[str, ...]:
        """The layers that hold, for manifests and people."""
        held = {
            "rlimits": self.limits,
            f"landlock (abi {self.landlock})": self.landlock > 0,
            "seccomp": self.seccomp,
            "network namespace": self.network,
        }
        return tuple(name for name, holds in held.items() if holds)

    @property
    def why_missing(self) -> str:
        """What does not hold, and why."""
        return "; ".join(f"{name}: {why}" for name, why in self.missing.items())

    def told(self, *, live: bool) -> tuple[str, ...]:
        """All that keeps a sandboxed replay from the world, for its manifest; or that too little does.

        Args:
            live: whether a model is asked, by a process outside.
        """
        names = (*LAYERS, *self.names, *([RELAYED] if live else []))
        return names if self.safe else (*names, f"{UNSAFE} ({self.why_missing})")

    def refusal(self, where: str = "") -> tuple[str, str, str]:
        """Why these are too few, as a `ReplayRefused` says it."""
        cure = "run on Linux 5.13 or later, or pass --unsafe-replay: then the agent can reach whatever you can"
        return f"Landlock and seccomp don't hold here ({self.why_missing})", where, cure


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a function in the sandbox.

    Attributes:
        status: ``done``; ``raised``: it raised; ``died``: the process was killed or left; ``late``: stopped by the
            time limit; ``refused``: too few layers hold, or threads ran already, and nothing was run.
        value: what it returned; empty unless ``done``.
        reason: why it is not ``done``, one sentence.
        layers: what held.
    """

    status: Status
    value: bytes = b""
    reason: str = ""
    layers: Layers = field(default_factory=Layers)
