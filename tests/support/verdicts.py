"""Verdicts from a flat list of facts, those of the reply among them."""

from __future__ import annotations

from harness.judging.parsing.verdict import Reply, Verdict

OF_REPLY = {*Reply.__struct_fields__} - {*Verdict.__struct_fields__, "text"}


def verdict_from(**facts):
    """Return a verdict; ``reply`` is the text of its reply, whose other facts stand beside it."""
    own = {name: value for name, value in facts.items() if name not in {*OF_REPLY, "reply"}}
    of_reply = {name: value for name, value in facts.items() if name in OF_REPLY}
    text = facts.get("reply", "" if of_reply.keys() - {"request"} else None)
    if text is None:
        return Verdict(**own, failed_request=of_reply.get("request", ""))
    return Verdict(**own, reply=Reply(text=text, **{"request": ""} | of_reply))
