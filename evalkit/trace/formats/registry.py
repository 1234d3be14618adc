"""Which formats there are. A new one is a module, a line here, and a test."""

from __future__ import annotations

from evalkit.registry import Registry
from evalkit.trace.formats.protocol import TraceFormat

__all__ = ["FORMATS"]

FORMATS: Registry[TraceFormat] = Registry(
    "trace format",
    "evalkit.formats",
    {
        "evalkit": "evalkit.trace.formats.native:FORMAT",
        "stepfork": "evalkit.trace.formats.stepfork:FORMAT",
        "tau-bench": "evalkit.trace.formats.tau_bench:FORMAT",
        "tau2-bench": "evalkit.trace.formats.tau2_bench:FORMAT",
        "otlp": "evalkit.trace.formats.otlp:FORMAT",
        "trail": "evalkit.trace.formats.trail:FORMAT",
        "swe-agent": "evalkit.trace.formats.swe_agent:FORMAT",
        "mini-swe-agent": "evalkit.trace.formats.mini_swe_agent:FORMAT",
        "who-and-when": "evalkit.trace.formats.who_and_when:FORMAT",
        "langfuse": "evalkit.trace.formats.langfuse:FORMAT",
        "langsmith": "evalkit.trace.formats.langsmith:FORMAT",
        "openai-agents": "evalkit.trace.formats.openai_agents:FORMAT",
        "inspect": "evalkit.trace.formats.inspect_ai:FORMAT",
        "openai-chat": "evalkit.trace.formats.openai_chat_log:FORMAT",
        "anthropic": "evalkit.trace.formats.anthropic_log:FORMAT",
        "anthropic-session": "evalkit.trace.formats.anthropic_sessions:FORMAT",
        "gemini": "evalkit.trace.formats.gemini_log:FORMAT",
        "bedrock": "evalkit.trace.formats.bedrock_log:FORMAT",
        "claude-code": "evalkit.trace.formats.claude_code:FORMAT",
        "codex": "evalkit.trace.formats.codex:FORMAT",
        "autogen": "evalkit.trace.formats.autogen:FORMAT",
        "otel-sdk-spans": "evalkit.trace.formats.otel_sdk_spans:FORMAT",
        "phoenix": "evalkit.trace.formats.phoenix:FORMAT",
    },
)
