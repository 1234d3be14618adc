"""The process environment that an agent sees in a replay: where its model is, and no credentials.

By default every variable stays, but what looks like a credential by its name, or by a password inside of a URL, has a
value that opens nothing: an agent that wants the variable starts, and reaches nobody with it. A project may list what
stays instead; then all else is left out. Where a live model is asked, the keys of model APIs stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache

from evalkit.playback.options import PLAIN_WORLD, WorldOptions
from evalkit.playback.sandbox.environment import DUMMY_KEY, DUMMY_KEYS, HARMLESS

__all__ = ["NO_MODEL_URL", "NO_TELEMETRY", "environment_of", "seen_by_agent"]

NO_MODEL_URL = "http://model.evalkit.invalid/v1"
NO_TELEMETRY = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
"""Frameworks that send traces of their own from a background thread, which the frozen world would take for a miss."""
_ESSENTIAL = HARMLESS | frozenset(
    "HOME USER LOGNAME SHELL TMPDIR TEMP TMP PYTHONPATH PYTHONHOME VIRTUAL_ENV LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "XDG_CACHE_HOME XDG_CONFIG_HOME SSL_CERT_FILE SSL_CERT_DIR SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA "
    "USERPROFILE".split()
)
"""What stays beside a project's own list: the interpreter and its libraries need it."""
_CREDENTIAL = re.compile(
    r"(^|_)(API_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PW|CREDENTIALS?|AUTH|DSN|COOKIES?)(_|\Z)"
)
_IN_URL = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]+(?=@)")


@contextmanager
def environment_of(base_url: str | None, options: WorldOptions = PLAIN_WORLD) -> Iterator[None]:
    """While inside, the process has the environment of a replay; afterwards its own again.

    The usual variables lead an OpenAI client to `base_url`; None leads it nowhere. Frameworks that would report the run
    elsewhere are told not to. Keys are given where there are none, because clients refuse to start without.
    """
    before = dict(os.environ)
    _become(seen_by_agent(before, base_url, options), before)
    try:
        yield
    finally:
        _become(before, dict(os.environ))


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
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        seen.setdefault(name, DUMMY_KEY)
    return {**seen, "OPENAI_BASE_URL": base_url or NO_MODEL_URL, **NO_TELEMETRY}


def _harmless(name: str, value: str) -> str:
    if _names_credential(name):
        return DUMMY_KEY
    return _IN_URL.sub(DUMMY_KEY, value) if "://" in value else value


@cache
def _names_credential(name: str) -> bool:
    return _CREDENTIAL.search(name.upper()) is not None


def _become(wanted: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Makes the environment, which is `now`, the wanted one; reading it anew would take longer than changing it."""
    for name in now.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if now.get(name) != value:
            os.environ[name] = value
