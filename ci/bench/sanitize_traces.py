"""Made-up traces of a shop in English and Chinese, for `sanitize_speed`: dense with values, usual, of long texts."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from leaks import VALUES, letters

from evalkit.trace.model import Step, Trace

__all__ = ["CLASSES"]

TALK_EN = (
    "I would like to change my flight to the next day, and add one more checked bag if that is possible.",
    "Could you tell me why the second payment has not come through? I have waited for eight days now.",
    "The policy says that a basic economy ticket can't be changed, yet it can be cancelled within 24 hours.",
    "Let me look that up for you. I see two reservations, of which one has been paid with a gift card.",
    "Thank you, that is all for today. Please send the confirmation and have a good evening.",
)
TALK_ZH = (
    "您好，我想把航班改到明天，另外再加一件托运行李，可以吗？",
    "第二笔退款还没有到账，我已经等了八天了，请帮我查一下原因。",
    "根据规定，基本经济舱的机票不能改签，但是可以在二十四小时内取消。",
    "好的，我这边帮您查询一下，系统显示有两个订单，其中一个是用礼品卡支付的。",
    "没有别的问题了，谢谢，请把确认信息发给我。",
)
WORDS_EN = (
    "please check the order refund has been sent to your account and we will update you when flight changes are "
    "confirmed by our team after review of policy for basic economy tickets with one bag each passenger may cancel "
    "within a day because total price includes taxes"
).split()
WORDS_ZH = (
    "我们 您好 请问 订单 航班 退款 改签 行李 系统 显示 已经 提交 申请 等待 审核 规定 可以 取消 费用 明天 "
    "下午 客服 查询 结果 确认 信息 支付 礼品卡 优惠 会员 积分 酒店 预订 入住 日期 房间 价格 如果 需要 帮助 "
    "联系 感谢 配合 处理 完成"
).split()
PERSON = ("email", "cn_mobile", "nanp", "name_en", "name_zh", "user_id", "address", "card")


def a_person(rng: random.Random) -> dict[str, str]:
    """A customer's record."""
    return {VALUES[kind][0]: VALUES[kind][1](rng) for kind in PERSON}


def said(rng: random.Random, sentences: int) -> str:
    """Sentences of random words, three in five of them Chinese."""
    return "".join(_sentence(rng, rng.random() < 0.6) for _ in range(sentences))


def _sentence(rng: random.Random, chinese: bool) -> str:
    if chinese:
        return "".join(rng.choices(WORDS_ZH, k=rng.randrange(6, 16))) + rng.choice("，。！？")
    return " ".join(rng.choices(WORDS_EN, k=rng.randrange(7, 16))).capitalize() + rng.choice((". ", "? ", "! "))


def dense(rng: random.Random, number: int) -> Trace:
    """A conversation about one customer, whose record every tool gives back."""
    person = a_person(rng)
    messages: list[Any] = [{"role": "system", "content": " ".join(TALK_EN[2:] + TALK_ZH[2:]) * 4}]
    steps: list[Step] = []
    for _ in range(rng.randrange(4, 9)):
        text = rng.choice(TALK_EN + TALK_ZH) + f" {rng.choice(list(person.values()))}，{rng.randrange(10**5)}"
        messages.append({"role": "user", "content": text})
        arguments: Any = {"user": person["user_id"], "order": f"#W{rng.randrange(10**7)}", "why": rng.choice(TALK_ZH)}
        asked: Any = {
            "role": "assistant",
            "content": rng.choice(TALK_ZH + TALK_EN),
            "tool_calls": [{"id": letters(rng, 12), "name": "find", "arguments": arguments}],
        }
        steps.append(Step(len(steps), "model", "chat", {"messages": list(messages)}, asked))
        record = {
            "customer": person, "items": [an_item(rng, rng.choice(TALK_EN)[:40]) for _ in range(6)],
            "total": rng.randrange(10**5) / 100, "log": a_command(rng), "note": rng.choice(TALK_EN),
            "备注": rng.choice(TALK_ZH), "digest": letters(rng, 40, "0123456789abcdef"),
            "blob": base64.b64encode(rng.randbytes(90)).decode(),
        }  # fmt: skip
        gave: Any = json.dumps(record, ensure_ascii=rng.random() < 0.5) if rng.random() < 0.5 else record
        steps.append(Step(len(steps), "tool", "find", arguments, gave))
        messages += [asked, {"role": "tool", "content": gave if isinstance(gave, str) else json.dumps(gave)}]
    return Trace(f"run-{number}", "shop", "evalkit", tuple(steps), input=messages[1], output={"state": "done"})


def usual(rng: random.Random, number: int) -> Trace:
    """A conversation in which the customer's record is looked up once, and orders and products many times."""
    person = a_person(rng)
    messages: list[Any] = [
        {"role": "system", "content": said(rng, 40)},
        {"role": "user", "content": f"{said(rng, 2)}{person['email']}"},
    ]
    steps: list[Step] = []
    for turn in range(rng.randrange(7, 12)):
        tool = "get_user" if turn == 0 else rng.choice(("get_order", "find_products", "cancel_order"))
        arguments: Any = {"order": f"#W{rng.randrange(10**7)}", "why": said(rng, 1)}
        if turn == 0:
            arguments = {"email": person["email"]}
        asked: Any = {
            "role": "assistant",
            "content": said(rng, rng.randrange(1, 5)),
            "tool_calls": [{"id": f"call_{letters(rng, 24)}", "name": tool, "arguments": arguments}],
        }
        steps.append(Step(len(steps), "model", "chat", {"messages": list(messages)}, asked))
        gave: Any = {
            "items": [an_item(rng, said(rng, 1)) for _ in range(rng.randrange(1, 6))], "status": "delivered",
            "total": rng.randrange(10**5) / 100, "备注": said(rng, 2),
        }  # fmt: skip
        if turn == 0:
            gave = {**gave, "customer": person}
        steps.append(Step(len(steps), "tool", tool, arguments, gave))
        content = json.dumps(gave, ensure_ascii=rng.random() < 0.5)
        messages += [asked, {"role": "tool", "content": content}, {"role": "user", "content": said(rng, 2)}]
    return Trace(f"run-{number}", "shop", "evalkit", tuple(steps), input=messages[1], output={"state": "done"})


def long(rng: random.Random, number: int) -> Trace:
    """Tools that give long texts: chat, JSON with JSON in it, base64, command lines."""
    person = a_person(rng)
    steps = tuple(Step(at, "tool", "find", {"n": at}, a_long_text(rng, person)) for at in range(33))
    return Trace(f"run-{number}", "shop", "evalkit", steps)


def a_long_text(rng: random.Random, person: dict[str, str]) -> str:
    """One of them; in every third a value of the person's."""
    kind = rng.random()
    if kind < 0.5:
        return with_value(rng, person, said(rng, rng.randrange(8, 28)))
    if kind < 0.8:
        inner = {
            "note": with_value(rng, person, said(rng, 4)),
            "items": [an_item(rng, said(rng, 1)) for _ in range(3)],
        }
        record = {
            "order": f"#W{rng.randrange(10**7)}", "payload": json.dumps(inner, ensure_ascii=rng.random() < 0.3),
            "备注": with_value(rng, person, said(rng, 5)), "status": "ok",
            "customer": person if rng.random() < 0.3 else {"tier": "gold"},
        }  # fmt: skip
        return json.dumps(record, ensure_ascii=rng.random() < 0.3)
    if kind < 0.9:
        return f"{said(rng, 4)} {base64.b64encode(rng.randbytes(400)).decode()} {with_value(rng, person, said(rng, 3))}"
    body = json.dumps({"q": with_value(rng, person, said(rng, 4))}, ensure_ascii=False)
    return f"{a_command(rng)} -H 'Content-Type: application/json' -d '{body}'"


def with_value(rng: random.Random, person: dict[str, str], text: str) -> str:
    """The text; in a third of all cases with a value behind it."""
    if rng.random() > 0.35:
        return text
    before = rng.choice(("联系方式", "my contact is", "reach me at", "手机"))
    return f"{text} {before} {rng.choice(list(person.values()))} "


def an_item(rng: random.Random, title: str) -> dict[str, Any]:
    """A line of an order."""
    at = f"2026-0{rng.randrange(1, 9)}-1{rng.randrange(9)}T08:00:00Z"
    return {
        "sku": letters(rng, 10),
        "price": rng.randrange(10**4) / 100,
        "at": at,
        "title": title,
        "n": rng.randrange(9),
    }


def a_command(rng: random.Random) -> str:
    """A call of the shop's service."""
    return f"curl -H 'Authorization: Bearer {letters(rng, 32)}' https://shop.io/{letters(rng, 9)}?page=2"


CLASSES: dict[str, Callable[[random.Random, int], Trace]] = {"dense": dense, "usual": usual, "long": long}
"""By name, what makes one trace of each."""
