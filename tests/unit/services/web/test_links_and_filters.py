"""Links to a client's pages, and filters of the templates."""

import jinja2.filters
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.rendering import link_client, list_filters
from services.web.views.addresses import read_page_token

ANN = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann & <b>/?")
FIELDS = "kind=user&id=ann+%26+%3Cb%3E%2F%3F"


@pytest.mark.parametrize(
    ("arguments", "fields", "address"),
    [
        ((), {}, f"/client?{FIELDS}"),
        ((), {"found": "a b"}, f"/client?{FIELDS}&found=a+b"),
        (("/client/history",), {"page": "7.x", "at": 3}, f"/client/history?{FIELDS}&page=7.x&at=3"),
    ],
)
def test_each_page_of_a_client_has_an_address(arguments, fields, address):
    assert link_client(ANN, *arguments, **fields) == address


def test_no_filter_hides_one_of_jinja():
    assert not list_filters().keys() & jinja2.filters.FILTERS.keys()


def test_the_first_page_has_no_token():
    assert [read_page_token(query) for query in ({}, {"page": "7.x"})] == ["", "7.x"]
