"""Bodies with more behind them, and settings that cannot be meant."""

import json

import pytest
from pydantic import ValidationError

from propagation.adapters.openai.endpoint.response_body import body_of, choice_of
from propagation.adapters.openai.options import OpenAIOptions


@pytest.mark.parametrize(
    "behind",
    ['{"choices": [{"message": {"content": "second"}}]}', '{"error": "late"}', " and more"],
)
def test_of_two_bodies_the_first_is_the_answer(behind):
    first = json.dumps({"choices": [{"message": {"content": "first"}, "finish_reason": "stop"}]})
    assert choice_of(body_of((first + behind).encode(), "choices"))[0] == "first"


@pytest.mark.parametrize(
    "told",
    [
        {"base_url": "banana"},
        {"base_url": "http://"},
        {"base_url": "ftp://host/v1"},
        {"model": ""},
        {"base_url": "http://host:banana/v1"},
    ],
)
def test_what_is_no_address_or_model_is_refused_when_settings_are_read(told):
    with pytest.raises(ValidationError, match=next(iter(told))):
        OpenAIOptions(**told)


def test_so_is_the_address_of_embeddings():
    with pytest.raises(ValidationError, match=r"embeddings\.base_url"):
        OpenAIOptions(embeddings={"base_url": "banana"})
    assert (
        OpenAIOptions(embeddings={"base_url": "http://host:1/v1"}).embeddings.base_url
        == "http://host:1/v1"
    )


def test_of_several_choices_an_object_is_the_answer():
    told = [{"message": {"content": said}} for said in (None, "Certainly!", '{"a": 1}', '{"b": 2}')]
    assert choice_of({"choices": told})[0] == '{"a": 1}'
    assert choice_of({"choices": told[:2]})[0] == "Certainly!"
    assert choice_of({"choices": told[:1]})[0] is None
