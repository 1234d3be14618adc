"""A tool behind a URL, called for real."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from evalkit.app.live_places import HttpPlace, filled_headers
from evalkit.canonical import Json

__all__ = ["StatusError", "http_call"]

_MOST_TOLD = 500


class StatusError(Exception):
    """The URL answered with a status that says no."""


def http_call(place: HttpPlace, timeout_s: float) -> Callable[[Mapping[str, Any]], Json]:
    """What calls the tool.

    Raises:
        ConfigError: a header names a variable that is not set.
    """
    headers = {"Accept": "application/json", **filled_headers(place.headers, f'[tools."{place.tools}"] headers')}

    def call(arguments: Mapping[str, Any]) -> Json:
        request = _request(place, arguments, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # the settings want http(s)
                text = str(answer.read(), "utf-8", "replace")
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(_MOST_TOLD).decode("utf-8", "replace")
            raise StatusError(f"status {error.code}: {said}") from None
        try:
            found: Json = json.loads(text)
        except ValueError:
            return text
        return found

    return call


def _request(place: HttpPlace, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> urllib.request.Request:
    if place.method == "GET":
        query = urlencode({name: _word(value) for name, value in arguments.items()})
        joined = "&" if "?" in place.url else "?"
        return urllib.request.Request(f"{place.url}{joined}{query}", headers=dict(headers))
    body = json.dumps(arguments).encode()
    return urllib.request.Request(place.url, body, {"Content-Type": "application/json", **headers}, method="POST")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
