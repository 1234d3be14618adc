"""The process environment that an agent sees in a replay: where its model is, and no credentials.

By default every variable stays, but what looks like a credential by its name, or by a password inside of a URL, has a
value that opens nothing: an agent that wants the variable starts, and reaches nobody with it. A project may list what
stays instead; then all else is left out. Where a live model is asked, the keys of model APIs stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

from evalkit.capture.unfollowed import REPLAYED
from evalkit.playback.options import PLAIN_WORLD, WorldOptions
from evalkit.playback.sandbox.environment import DUMMY_KEY, DUMMY_KEYS, HARMLESS
from evalkit.playback.spawned import told_in

__all__ = ["NO_MODEL_URL", "NO_TELEMETRY", "environment_of", "loading", "seen_by_agent"]

NO_MODEL_URL = "http://model.evalkit.invalid/v1"
NO_TELEMETRY = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
"""Frameworks that send traces of their own from a background thread, which the frozen world would take for a miss."""
_WANTED = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""Keys without which the clients whose calls are captured can't be made."""
_ESSENTIAL = HARMLESS | frozenset(
    "HOME USER LOGNAME SHELL TMPDIR TEMP TMP PYTHONPATH PYTHONHOME VIRTUAL_ENV LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "XDG_CACHE_HOME XDG_CONFIG_HOME SSL_CERT_FILE SSL_CERT_DIR SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA "
    "USERPROFILE".split()
)
"""What stays beside a project's own list: the interpreter and its libraries need it."""
_CREDENTIAL = re.compile(
    r"(^|_)(API_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PW|CREDENTIALS?|AUTH|DSN|COOKIES?)(_|\Z)"
)
_ENVIRON: Any = os.environb if os.supports_bytes_environ else os.environ
"""The environment in the system's own form."""
_FORM: Callable[[str], Any] = os.fsencode if os.supports_bytes_environ else os.fsdecode
_IN_URL = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]+(?=@)")


@contextmanager
def environment_of(base_url: str | None, options: WorldOptions = PLAIN_WORLD) -> Iterator[Callable[[], None]]:
    """While inside, the process has the environment of a replay; afterwards its own again.

    The usual variables lead an OpenAI client to `base_url`; None leads it nowhere. Frameworks that would report the run
    elsewhere are told not to. Keys are given where there are none, because clients refuse to start without. Python
    processes that are started inside refuse what they can't be followed in (see `capture.unfollowed`).

    Yields:
        what takes back the agent's changes to it.
    """
    before = _variables().copy()
    seen = {**_seen(tuple(before.items()), base_url, options), _FORM(REPLAYED): _FORM(told_in())}
    _become(seen)
    try:
        yield lambda: _become(seen)
    finally:
        _become(before)


@contextmanager
def loading(base_url: str | None = None) -> Iterator[None]:
    """What an agent's module finds that makes its client while it is loaded, before any replay's environment is there.

    The usual variable leads it to `base_url`, where there is one. Keys that open nothing are there, where the process
    has no key of any model API; where it has one, none is added: which one may be how the agent chooses its model.
    """
    given = {} if base_url is None else {"OPENAI_BASE_URL": base_url}
    if not any(name in os.environ for name in DUMMY_KEYS):
        given |= dict.fromkeys(_WANTED, DUMMY_KEY)
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if os.environ.get(name) != given[name]:
                continue  # the module's own choice stays
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def seen_by_agent(environment: Mapping[str, str], base_url: str | None, options: WorldOptions) -> dict[str, str]:
    """The environment that an agent sees in place of this one."""
    kept = options.keep_env
    seen: dict[str, str] = {}
    for name, value in environment.items():
        listed = kept is not None and any(fnmatchcase(name, pattern) for pattern in kept)
        if listed or (base_url is not None and name in DUMMY_KEYS):
            seen[name] = value
        elif kept is None or name in _ESSENTIAL:
            seen[name] = _harmless(name, value)
    for name in _WANTED:
        seen.setdefault(name, DUMMY_KEY)
    return {**seen, "OPENAI_BASE_URL": base_url or NO_MODEL_URL, **NO_TELEMETRY}


def _harmless(name: str, value: str) -> str:
    if _names_credential(name):
        return DUMMY_KEY
    return _IN_URL.sub(DUMMY_KEY, value) if "://" in value else value


@cache
def _names_credential(name: str) -> bool:
    return _CREDENTIAL.search(name.upper()) is not None


def _variables() -> dict[Any, Any]:
    """The environment as `os` holds it: asking that for every variable in turn takes longer than a replay."""
    held: dict[Any, Any] = vars(_ENVIRON)["_data"]
    return held


@lru_cache(maxsize=1)
def _seen(variables: tuple[tuple[Any, Any], ...], base_url: str | None, options: WorldOptions) -> Mapping[Any, Any]:
    """`seen_by_agent` in the system's form; case after case asks for the same."""
    now = {os.fsdecode(name): os.fsdecode(value) for name, value in variables}
    return {_FORM(name): _FORM(value) for name, value in seen_by_agent(now, base_url, options).items()}


def _become(wanted: Mapping[Any, Any]) -> None:
    """Makes the environment the wanted one."""
    now = _variables()
    if now != wanted:
        for name in now.keys() - wanted.keys():
            del _ENVIRON[name]
        for name, value in wanted.items() - now.items():
            _ENVIRON[name] = value
