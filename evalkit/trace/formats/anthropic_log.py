"""Logs of Anthropic's Messages API, and lists of its messages: see `provider_log`."""

from evalkit.trace.formats.provider_log import ProviderLogFormat

__all__ = ["FORMAT"]

FORMAT = ProviderLogFormat("anthropic")
