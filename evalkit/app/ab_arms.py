"""The arms of an A/B comparison, as ``KEY=VALUE`` says them: what each has otherwise than the suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.app.replay_options import read_extra_body, read_prompt
from evalkit.errors import ConfigError
from evalkit.playback.modes import SUITE_MODES

__all__ = ["ArmSpec", "arm_overrides", "parse_arm"]

_KEYS = ("prompt", "model", "temperature", "base-url", "target", "extra_body", "mode")
_ALIASES = {"entrypoint": "target", "base_url": "base-url", "extra-body": "extra_body"}
_OF_LIVE_MODEL = {"prompt", "model", "temperature", "base-url", "extra_body"}
_FORM = "--a prompt=old.txt --b prompt=new.txt --b model=gpt-next; keys: " + ", ".join(_KEYS)


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """What an arm has otherwise than the suite.

    Attributes:
        given: by key, as it was said.
    """

    given: Mapping[str, str]

    @property
    def name(self) -> str:
        """In words; an arm without anything of its own is the suite as it stands."""
        return ", ".join(f"{key}={value}" for key, value in self.given.items()) or "as the suite says"

    @property
    def asks_otherwise(self) -> bool:
        """Whether it changes what a live model is asked, or which one."""
        return bool(_OF_LIVE_MODEL & set(self.given))


def parse_arm(words: Sequence[str], flag: str) -> ArmSpec:
    """An arm from its ``KEY=VALUE`` words.

    Raises:
        ConfigError: a word is no ``KEY=VALUE``, a key is unknown or said twice, or a mode is none.
    """
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = _ALIASES.get(key, key)
        if not equals or not value:
            raise ConfigError(f"{word!r} is no KEY=VALUE", flag, _FORM)
        if key not in _KEYS:
            raise ConfigError(f"an arm has no {key!r}", flag, _FORM)
        if key in given:
            raise ConfigError(f"{key} is said twice", flag, "say it once an arm")
        if key == "mode" and value not in SUITE_MODES:
            raise ConfigError(f"there is no mode {value!r}", flag, f"modes: {', '.join(SUITE_MODES)}")
        given[key] = value
    return ArmSpec(given)


def arm_overrides(arm: ArmSpec, *, live: bool, flag: str) -> dict[str, Any]:
    """The suite's keys that an arm replaces, for `suite.config.load_suite`.

    Args:
        live: whether the arms compare what a live model answers, so that one must be asked where no mode is said.

    Raises:
        ConfigError: a file can't be read, a value is of the wrong kind, or a frozen model would be asked otherwise.
    """
    given = arm.given
    found: dict[str, Any] = {}
    if given.get("mode") == "exact" and arm.asks_otherwise:
        what = f"mode exact asks no model, so {arm.name} would change nothing"
        raise ConfigError(what, flag, "leave the mode out, or say mode=live-model")
    if "mode" in given:
        found["mode"] = given["mode"]
    elif live:
        found["mode"] = "live-model"
    if "target" in given:
        found["target"] = given["target"]
    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "model": ("name", str),
        "prompt": ("system_prompt", lambda text: read_prompt(Path(text))),
        "temperature": ("temperature", lambda text: _temperature(text, flag)),
        "base-url": ("base_url", str),
        "extra_body": ("extra_body", lambda text: read_extra_body(text, f"{flag} extra_body")),
    }
    if model := {name: read(given[key]) for key, (name, read) in readers.items() if key in given}:
        found["model"] = model
    return found


def _temperature(text: str, flag: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise ConfigError(f"a temperature is a number from 0 on, not {text!r}", flag, "--a temperature=0.2")
    return value
