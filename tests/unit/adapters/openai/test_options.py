"""Settings that cannot be meant are refused when they are read."""

import pytest
from pydantic import ValidationError

from propagation.adapters.openai.options import OpenAIOptions


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
