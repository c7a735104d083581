"""Parameters of inspect queries that are none, refused by name before a graph is asked."""

import pytest

from services.client.errors import UsageProblem
from services.inspection.queries import load_queries


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("client_at", "at=yesterday", "at must be a time in UTC, such as "),
        ("client_at", "at=2026-13-01T00:00:00Z", "at must be a time in UTC, such as "),
        ("client_at", "client=1", "client must be user:ID or item:ID, such as "),
        ("line_origin", "client=router:1", "client must be user:ID or item:ID, such as "),
        ("shared_routers", "other=user:", "other must be user:ID or item:ID, such as "),
        ("unreached_clients", "kind=router", "kind must be User or Item"),
        ("unreached_clients", "kind", "give KEY=VALUE with a KEY of "),
        ("client_at", "att=2026", "give KEY=VALUE with a KEY of "),
    ],
)
def test_what_is_no_value_is_refused(name, given, message):
    with pytest.raises(UsageProblem, match=message):
        load_queries()[name].parameters([given])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("unreached_clients", {"kind": "ITEM"}),
        ("client_at", {"client": "item:a:b\n"}),
        ("client_at", {"at": "2026-01-01T00:00:00Z"}),
    ],
)
def test_what_is_one_is_taken_and_the_sample_stands_for_the_rest(name, given):
    question = load_queries()[name]
    assert question.parameters([f"{key}={value}" for key, value in given.items()]) == {
        **question.sample,
        **given,
    }
