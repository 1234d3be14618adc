"""The demo's agent: it refunds orders through a chat model and two tools.

It knows nothing of evalkit but the `tool` decorator. Two variants differ in their system prompt only: the first says
nothing of what the tools do to the world, and a model that confuses them refunds twice; the second says it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalkit.capture.tools import tool

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["TOOLS", "lookup_order", "refund_order", "run_buggy", "run_fixed"]

_ORDERS: dict[str, dict[str, Any]] = {
    "A-1001": {
        "order_id": "A-1001",
        "status": "delivered",
        "amount": 129.0,
        "currency": "EUR",
        "customer": {"name": "Lena Vogt", "email": "lena.vogt@posteo-mail.de", "phone": "+49 151 23456789"},
    },
    "A-1002": {
        "order_id": "A-1002",
        "status": "delivered",
        "amount": 18.5,
        "currency": "EUR",
        "customer": {"name": "Marc Petit", "email": "marc.petit@orange-mail.fr", "phone": "+33 6 12 34 56 78"},
    },
}
_REFUNDED: dict[str, float] = {}

PROMPT_BUGGY = "You handle refunds for an online shop. Use the tools. Tell the customer when the refund is on its way."
PROMPT_FIXED = (
    PROMPT_BUGGY + " refund_order moves money: call it once an order. To see how a refund stands, call lookup_order."
)
_MAX_TURNS = 8

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "lookup_order",
            "description": "The state of an order.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "refund_order",
            "description": "Refund an order.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
                "required": ["order_id", "amount"],
            },
        },
    },
]


@tool(effect="read")
def lookup_order(order_id: str) -> dict[str, Any]:
    """The order, with the sum refunded so far."""
    if order_id not in _ORDERS:
        raise KeyError(order_id)
    return {**_ORDERS[order_id], "refunded": _REFUNDED.get(order_id, 0.0)}


@tool(effect="write")
def refund_order(order_id: str, amount: float) -> dict[str, Any]:
    """Pays `amount` back; asking twice pays twice."""
    _REFUNDED[order_id] = _REFUNDED.get(order_id, 0.0) + amount
    return {"refund_id": f"R-{order_id}-{round(_REFUNDED[order_id] / amount)}", "status": "pending", "amount": amount}


def run_buggy(message: str) -> dict[str, Any]:
    """Answers one customer, as it was on the day of the incident."""
    return _run(message, PROMPT_BUGGY)


def run_fixed(message: str) -> dict[str, Any]:
    """Answers one customer, with the prompt that tells reading from paying."""
    return _run(message, PROMPT_FIXED)


def _run(message: str, prompt: str) -> dict[str, Any]:
    from openai import OpenAI

    base_url = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8377/v1")
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "not-needed"), max_retries=1) as client:
        return _answered(client, [{"role": "system", "content": prompt}, {"role": "user", "content": message}])


def _answered(client: OpenAI, messages: list[Any]) -> dict[str, Any]:
    for _ in range(_MAX_TURNS):
        reply = client.chat.completions.create(model="refund-1", messages=messages, tools=TOOLS, temperature=0.7)  # type: ignore[arg-type]  # plain dicts, as the API takes them
        answer = reply.choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return {"answer": answer.content}
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": _call(call.function)}
            for call in answer.tool_calls
            if call.type == "function"
        ]
    return {"answer": "A colleague will get back to you."}


def _call(function: Any) -> str:
    tools: dict[str, Callable[..., Any]] = {"lookup_order": lookup_order, "refund_order": refund_order}
    body = tools[function.name]
    try:
        return json.dumps(body(**json.loads(function.arguments)))
    except KeyError as error:
        return json.dumps({"error": f"no order {error}"})
