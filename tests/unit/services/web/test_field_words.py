"""What the page says about a refused call, and about a field of it."""

import re
from importlib.resources import files

import grpc
import pytest

from propagation.errors import PropagationError, StoreFull
from propagation.model import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.grpc.status import build_status
from services.runtime.errors import AnswerTooLarge
from services.security.rate_limits import RateLimited
from services.web.problems import FORGED_LINK, SENTENCES_OF_FIELDS, describe_failure

REQUESTS = [
    message
    for name, message in pb.DESCRIPTOR.message_types_by_name.items()
    if name.endswith("Request")
]
LABEL = re.compile(r"<label[^>]*>(?:<input[^>]*>)?\s*([^<{]+)")


def refuse(field: str, problem: str) -> CallFailed:
    return fail(InvalidInput(field, problem))


def fail(error: PropagationError) -> CallFailed:
    code, status = build_status(error, str)
    metadata = (("grpc-status-details-bin", status.SerializeToString()),)
    return CallFailed(code, trailing_metadata=metadata, details=status.message)


def has_field(message, path: str) -> bool:
    first, _, rest = path.partition(".")
    field = message.fields_by_name.get(first)
    return field is not None and (not rest or has_field(field.message_type, rest))


@pytest.mark.parametrize("field", SENTENCES_OF_FIELDS)
def test_each_field_is_one_of_a_call(field):
    assert any(has_field(message, field) for message in REQUESTS)


def test_quoted_are_labels_of_forms():
    labels = [
        label.strip()
        for template in files("services.web").joinpath("templates").rglob("*.html")
        for label in LABEL.findall(template.read_text())
    ]
    for words in SENTENCES_OF_FIELDS.values():
        for quoted in re.findall("“(.+?)”", words):
            assert any(label.startswith(quoted) for label in labels), quoted


@pytest.mark.parametrize(
    ("field", "problem", "sentence"),
    [
        ("key.id", "is empty; give 1", "The id is empty; give 1."),
        ("attributes[3]", "is empty", "“Only with an attribute” is empty."),
        ("page_token", "does not belong to this request", FORGED_LINK),
        ("interactions[2].weight", "is 11", "interactions[2].weight: is 11"),
    ],
)
def test_a_refusal_is_a_sentence_in_the_words_of_the_form(field, problem, sentence):
    shown = describe_failure(refuse(field, problem))
    assert (shown.status, shown.sentence) == (400, sentence)
    assert refuse(field, problem).code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RateLimited("calls", 0.5), 429),
        (AnswerTooLarge(5 << 20, 4 << 20), 502),
        (StoreFull("no space"), 507),
    ],
)
def test_only_too_many_calls_are_429(error, status):
    assert describe_failure(fail(error)).status == status
