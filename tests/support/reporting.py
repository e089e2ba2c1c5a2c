"""What attacks a report: texts of items, replies and names, and judges that say them."""

from __future__ import annotations

N_ITEMS = 60
N_RATERS = 5
HOSTILE = (
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit=1">',
    "<svg onload=window.hit=1>",
    "javascript:window.hit=1",
    "{{ 7*7 }} ${7*7} {% raw %}",
    "<!-- --><style>body{display:none}</style>",
    "\u2028\u2029</textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
    "]]><a href='http://192.0.2.1/'>away</a>",
)
BAD_NAME = "<img src=x onerror=window.hit=1>"


def say(choice: str, endorsed: str) -> dict:
    return {"forced_choice": choice, "response_set": endorsed, "paired": ((endorsed, choice),)}


def scripts() -> dict:
    """Three judges: one follows the raters, one is lenient, one says what attacks say."""
    follows, lenient = {}, {}
    for i in range(N_ITEMS):
        toxic = i % (N_RATERS + 1)
        follows[f"i{i}"] = say("A" if toxic >= 3 else "B", "A, B" if toxic in (2, 3) else "B")
        lenient[f"i{i}"] = say("A" if toxic >= 1 else "B", "A" if toxic >= 2 else "A, B")
    bad = {"*": "B", **{f"i{i}": HOSTILE[i % len(HOSTILE)] for i in range(0, N_ITEMS, 3)}}
    return {
        name: {"kind": "scripted", "model": f"{name} model", "replies": replies, "samples": 1}
        for name, replies in (("follows", follows), ("lenient", lenient), (BAD_NAME, bad))
    }
