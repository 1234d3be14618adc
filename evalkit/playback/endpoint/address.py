"""Which requests are the endpoint's: its own host, below its own path, and of a known model API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from evalkit.wire.registry import find_wire

__all__ = ["headers_for", "why_not_endpoint"]

_CLEAN_PATH = re.compile(r"(?:/[A-Za-z0-9._~:@-]+)+")
_QUERY = frozenset({"api-version", "beta"})
_PORTS = {"http": 80, "https": 443}
_PASSED = frozenset(
    "accept content-type user-agent anthropic-version anthropic-beta openai-beta openai-organization "
    "openai-project".split()
)
_KEYS = ("authorization", "x-api-key", "api-key")


def why_not_endpoint(base_url: str, url: str) -> str:
    """Why a POST to `url` is none to the endpoint; empty for one that is."""
    try:
        base, asked = urlsplit(base_url), urlsplit(url)
        same = (asked.scheme, asked.hostname, _port(asked.scheme, asked.port)) == (
            base.scheme, base.hostname, _port(base.scheme, base.port),
        )  # fmt: skip
    except ValueError:
        return "it is no URL"
    if not same or "@" in asked.netloc:
        return f"{asked.scheme}://{asked.netloc} is another host than the endpoint's"
    if not _CLEAN_PATH.fullmatch(asked.path) or {".", ".."} & set(asked.path.split("/")):
        return "its path is not plain"
    if not asked.path.startswith(base.path.rstrip("/") + "/"):
        return f"{asked.path} is not below the endpoint's {base.path}"
    if asked.fragment or not {name for name, _ in parse_qsl(asked.query, keep_blank_values=True)} <= _QUERY:
        return "its query is none of a model's API"
    return "" if find_wire("POST", url) is not None else f"{asked.path} is no model call"


def headers_for(url: str, sent: Mapping[str, str], own: Mapping[str, str], key: str) -> dict[str, str]:
    """The headers of a request: the API's own of those that the client sent, the endpoint's, and the key.

    Args:
        sent: by the client, names in lower case.
        own: the endpoint's; they win.
        key: empty to send on what the client has for one.
    """
    headers = {name: value for name, value in sent.items() if name in _PASSED}
    if key:
        anthropic = getattr(find_wire("POST", url), "name", "") == "anthropic"
        headers |= {"x-api-key": key} if anthropic else {"authorization": f"Bearer {key}"}
    else:
        headers |= {name: sent[name] for name in _KEYS if name in sent}
    return {**headers, **{name.lower(): value for name, value in own.items()}, "accept-encoding": "identity"}


def _port(scheme: str, port: int | None) -> int | None:
    return port or _PORTS.get(scheme)
