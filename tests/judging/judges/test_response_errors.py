"""Error responses in the words of many providers: which parameter is refused, and what is not."""

from __future__ import annotations

import json

import pytest

from harness.judging.judges.parameter_refusals import OTHER_NAMES, REFUSED, named_parameter
from harness.judging.judges.response_errors import failure_of, may_be_billed
from harness.judging.parsing.reply_endings import ending_of
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request

SENT = {
    "temperature": 0.3,
    "max_tokens": 32,
    "response_format": {"type": "json_schema"},
    "logprobs": True,
    "top_logprobs": 20,
    "seed": 1,
    "stop": ["x"],
    "presence_penalty": 0.1,
    "top_k": 3,
}


def request_of(prompt: str = "Rate this.", **params: object) -> Request:
    """Return a request with parameters."""
    return Request(
        provider="endpoint", model="m", params=params, messages=(Message("user", prompt),)
    )


def error(message: object, **fields: object) -> dict[str, object]:
    """Return an error body in OpenAI's form."""
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


def failure(body: object, status: int = 400, request: Request | None = None, n: int = 1):
    """Classify a response to a request, by default one with many parameters."""
    return failure_of(status, {}, json.dumps(body).encode(), request or request_of(**SENT), n)


REFUSALS = [
    (
        400,
        error("Unsupported value: 'temperature' does not support 0.3 with this model."),
        "temperature",
    ),
    (400, error("Not accepted here", param="temperature"), "temperature"),
    (400, error("`temperature` is deprecated for this model."), "temperature"),
    (400, error("temperature: range: 0..1"), "temperature"),
    (
        400,
        error("Invalid 'top_logprobs': expected a value <= 5, but got 20 instead."),
        "top_logprobs",
    ),
    (403, error("You are not allowed to request logprobs from this model"), "logprobs"),
    (400, error("Logprobs is not enabled for models/gemini-2.5-flash-lite"), "logprobs"),
    (400, error("Requested sample logprobs of 20, greater than max allowed: 5"), "logprobs"),
    (501, error("This server does not support logprobs"), "logprobs"),
    (400, error("This response_format type is unavailable now"), "response_format"),
    (400, error("This model does not support response format `json_schema`."), "response_format"),
    (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}, "response_format"),
    (400, error("Unknown name \"responseSchema\" at 'generation_config'"), "response_format"),
    (400, error("Structured outputs are not available for this model"), "response_format"),
    (400, error("Argument not supported on this model: presencePenalty"), "presence_penalty"),
    (400, error("This model does not support parameter stop."), "stop"),
    (400, {"message": "Malformed input request: #: extraneous key [top_k]"}, "top_k"),
    (422, {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, "seed"),
    (
        422,
        {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"]}]}},
        "top_k",
    ),
    (
        400,
        error("Provider returned error", metadata={"raw": json.dumps(error("'seed' is unknown"))}),
        "seed",
    ),
]


@pytest.mark.parametrize(("status", "body", "name"), REFUSALS)
def test_refusal_names_the_parameter_that_was_sent(status, body, name):
    """Whatever the words: the request says which names to look for. Nothing was billed."""
    refused = failure(body, status)
    assert refused.reason == REFUSED + name
    assert not refused.retry
    assert refused.alike
    assert not may_be_billed(refused)
    fields = (f"{name}: null", "top_logprobs: 5", "answer: plain")
    assert any(field in refused.hint for field in fields)


def test_refused_number_of_samples_is_named_if_several_were_asked_for():
    """A request for one sample has no ``n``."""
    body = error("'n' : number must be at most 1")
    assert failure(body, n=10).reason == REFUSED + "n"
    assert failure(body).reason == "bad_request"


@pytest.mark.parametrize(
    "message",
    [
        "Conversation roles must alternate user/assistant",
        "Please stop sending images; the user is not known",
        "The model m does not exist",
    ],
)
def test_other_refusals_name_no_parameter(message):
    """Common words are no names, and names that were not sent are none."""
    assert failure(error(message)).reason == "bad_request"
    assert failure(error(message), request=request_of(seed=1)).reason == "bad_request"


@pytest.mark.parametrize("name", sorted({"temperature", "top_p", "seed", *OTHER_NAMES} - {"n"}))
def test_any_parameter_is_found_in_any_case_and_joint(name):
    """Snake, camel and kebab case are one name."""
    camel = name.split("_")[0] + "".join(part.title() for part in name.split("_")[1:])
    for spelled in (name, camel, name.upper(), name.replace("_", "-"), name.replace("_", " ")):
        message = f"'{spelled}' is not supported".lower()
        assert named_parameter("", message, [name, "zzz"]) == name


def test_refusals_are_alike_if_only_numbers_differ():
    """Identifiers of requests and counts of tokens do not tell two refusals apart."""
    first, second = (failure(error(f"Rejected (request 7f{n}e-12)")) for n in (3, 4))
    assert first.alike == second.alike != failure(error("Rejected for another reason")).alike


CAP_TOO_LARGE = [
    ("max_tokens: 100000 > 8192, the maximum allowed number of output tokens", 100_000),
    ("'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens", 4096),
    ("maximum context length is 4097, you requested 4322 (66 prompt; 4256 completion)", 4256),
    ("it has a maxOutputTokens value of 10000 but the range is from 1 to 8193", 10_000),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 10_000),
]
PROMPT_TOO_LONG = [
    "maximum context length is 2048. You requested 2100 (2068 in the messages, 32 in the answer)",
    "input length and `max_tokens` exceed context limit: 2068 + 32 > 2048",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048",
    "max_tokens must be at least 1, got -45.",
    "the request exceeds the available context size",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "This model's maximum prompt length is 8192 but the request contains 9000 tokens.",
    "`inputs` must have less than 1024 tokens. Given: 5000",
    "Range of input length should be [1, 30720]",
    "The messages you sent exceed the limit of 4096 tokens",
    "Your messages are too long for this model",
]
OF_ANOTHER_LENGTH = [
    "max_tokens (5000) exceeds the maximum of 4096",
    "temperature: input should be less than or equal to 1",
    "top_p: input should be greater than 0",
    "'stop': array too long. Expected an array with maximum length 4",
    "messages: roles must alternate",
]


@pytest.mark.parametrize(("message", "cap"), CAP_TOO_LARGE)
def test_token_limit_that_does_not_fit_is_no_long_prompt(message, cap):
    """The judge stops at once: its limit is to be lowered."""
    refused = failure(error(message), request=request_of(max_tokens=cap))
    assert (refused.reason, refused.stops_judge) == ("cap_refused", True)


@pytest.mark.parametrize("message", PROMPT_TOO_LONG)
def test_long_prompt_is_no_refused_token_limit(message):
    """The prompt is larger than the limit, so only this item fails."""
    long = request_of("word " * 2068, max_tokens=32)
    refused = failure(error(message), request=long)
    assert (refused.reason, refused.stops_judge) == ("context_length", False)


@pytest.mark.parametrize("message", OF_ANOTHER_LENGTH)
def test_limit_of_a_parameter_is_no_long_prompt(message):
    """A value can exceed a maximum too."""
    sent = request_of(max_tokens=5000, temperature=2, top_p=0, stop=["."])
    assert failure(error(message), request=sent).reason != "context_length"


CLASHES = [
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    "temperature and top_p are mutually exclusive",
    "Only one of temperature or top_p can be set",
]


@pytest.mark.parametrize("message", CLASHES)
def test_refusal_of_two_parameters_together_names_both(message):
    """Either can be left out."""
    refused = failure(error(message), request=request_of(top_p=0.9, seed=1, temperature=0))
    assert refused.reason == f"{REFUSED}temperature+top_p"
    assert "rejects temperature together with top_p" in refused.hint
    assert "`params: {temperature: null}` or `params: {top_p: null}`" in refused.hint
    only = failure(error(message), request=request_of(temperature=0))
    assert only.reason == f"{REFUSED}temperature"


ENDINGS = {
    "complete": "stop STOP end_turn eos eos_token stop_sequence FINISH_REASON_STOP tool_calls",
    "cut_off": "length LENGTH MAX_TOKENS max_tokens max_output_tokens model_length incomplete "
    "maxTokens FinishReason.MAX_TOKENS model_context_window_exceeded max_new_tokens token_limit",
    "filtered": "content_filter SAFETY RECITATION PROHIBITED_CONTENT BLOCKLIST SPII refusal "
    "guardrail_intervened sensitive content_filtered IMAGE_SAFETY",
    "failed": "error network_error abort insufficient_system_resource timeout cancelled",
    "unknown": "OTHER FINISH_REASON_UNSPECIFIED load unknown",
}


@pytest.mark.parametrize(
    ("word", "ending"), [(w, ending) for ending, words in ENDINGS.items() for w in words.split()]
)
def test_word_for_the_end_of_a_reply_is_read_by_its_meaning(word, ending):
    """Each provider has its own words."""
    assert ending_of(word) == ending


def test_reply_without_a_word_for_its_end_is_complete():
    """Some servers send none."""
    assert ending_of(None) == ending_of("") == "complete"


@pytest.mark.parametrize("status", [403, 500, 502])
def test_refused_parameter_is_named_whatever_the_status(status):
    """Gateways pass a refusal on as an error of theirs, and it was retried for each item."""
    body = error("Unsupported parameter: 'temperature' is not supported with this model.")
    refused = failure(body, status=status, request=request_of(temperature=0.2))
    assert refused.reason == "refused_parameter:temperature"


def test_failure_of_a_server_that_names_a_parameter_is_retried():
    """It says nothing of support."""
    body = error("CUDA error while sampling with temperature 0.2")
    assert failure(body, status=500, request=request_of(temperature=0.2)).retry


def test_prompt_that_a_provider_inspected_is_filtered():
    """As DashScope words it."""
    body = {"error": {"code": "data_inspection_failed", "message": "Input data may be bad."}}
    assert failure(body).reason == "content_filter"
