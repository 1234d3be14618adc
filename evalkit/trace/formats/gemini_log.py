"""Logs of Google's generateContent: see `provider_log`."""

from evalkit.trace.formats.provider_log import ProviderLogFormat

__all__ = ["FORMAT"]

FORMAT = ProviderLogFormat("gemini")
