"""The statements that are planned before anybody asks (plans.py), held against the files."""

import re

import pytest

from propagation.adapters.neo4j.connection.plan_warm_up import planned
from propagation.adapters.neo4j.connection.statements import load_statements

WRITES = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE)\b")


@pytest.fixture(scope="module")
def statements():
    return load_statements()


def test_each_is_given_the_parameters_that_its_file_declares(statements):
    assert [
        name for name, parameters in planned() if statements[name].parameters != parameters.keys()
    ] == []


def test_none_of_them_writes(statements):
    names = {name for name, _ in planned()}
    assert len(names) > 15
    assert [name for name in names if WRITES.search(statements[name].text)] == []


def test_a_list_is_planned_at_each_length_that_the_server_tells_apart():
    """1, 2 to 10, 11 to 100, 101 to 1,000."""
    lengths = {len(parameters["refs"]) for name, parameters in planned() if name == "clients/get"}
    assert lengths == {1, 2, 11, 101}
