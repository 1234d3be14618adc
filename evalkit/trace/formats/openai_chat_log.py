"""Logs of OpenAI's chat completions and Responses APIs, and plain lists of chat messages: see `provider_log`."""

from evalkit.trace.formats.provider_log import ProviderLogFormat

__all__ = ["FORMAT"]

FORMAT = ProviderLogFormat("openai-chat")
