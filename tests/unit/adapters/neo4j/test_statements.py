"""The statements' files: each says what it takes, and nothing else reaches a server."""

import re
from pathlib import Path

import pytest

from propagation.adapters.neo4j.connection import Neo4jDatabase, load_schema_steps, load_statements
from propagation.adapters.neo4j.connection.statements import parse_statement
from propagation.adapters.neo4j.forget.client_export import STATEMENTS
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.ports import EXPORTED_KINDS
from tests.neo4j_server.statement_headers import read_header

ADAPTER = Path("propagation/adapters/neo4j")
GOOD = "// name: a/b\n// purpose: says it\n// parameters: ref, now\nSET $ref.at = $now;\n"
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?<!\$)`[^`]*`", re.DOTALL
)
PARAMETER = re.compile(r"\$(?:`([^`]*)`|(\w+))")


def find_parameters(text):
    return {quoted or word for quoted, word in PARAMETER.findall(NOT_CODE.sub(" ", text))}


def test_every_file_says_its_name_purpose_and_parameters():
    for name, statement in load_statements().items():
        said = read_header(name)
        assert said["name"] == name
        assert said["purpose"]
        assert statement.parameters == find_parameters(statement.text), name
        assert find_parameters(statement.sent) <= {"parameters"}, name


def test_what_looks_like_a_parameter_in_a_text_or_a_comment_is_none():
    text = "SET c.at = $now, '$no', \"$no\", `$no` // $no\n/* $no\n$no */, $`a b`, $0, $été"
    assert find_parameters(text) == {"now", "a b", "0", "été"}


def test_a_statement_is_sent_without_its_header():
    assert parse_statement(GOOD).text == "SET $ref.at = $now"


def test_other_parameters_than_declared_are_not_sent():
    database = Neo4jDatabase(Neo4jSettings(), {"a/b": parse_statement(GOOD)})
    assert "$parameters.ref" in database.query("a/b", {"ref": 1, "now": 2})
    for given in ({"ref": 1}, {"ref": 1, "now": 2, "limit": 3}):
        with pytest.raises(TypeError, match="a/b takes"):
            database.query("a/b", given)


def test_every_statement_is_used_and_every_used_one_is_there():
    code = "".join(file.read_text() for file in ADAPTER.rglob("*.py"))
    assert set(re.findall(r'"([a-z]+(?:/[a-z_]+)+)"', code)) == set(load_statements())


def test_every_exported_kind_but_the_weights_has_a_statement():
    assert STATEMENTS.keys() == {*EXPORTED_KINDS} - {"written"}


def test_no_query_text_is_built_in_python():
    keyword = re.compile(r"\b(MATCH|MERGE|UNWIND|CREATE|DELETE|SET)\b [(\[a-z$]")
    assert not [file.name for file in ADAPTER.rglob("*.py") if keyword.search(file.read_text())]


def test_schema_steps_are_numbered_one_after_another():
    assert list(load_schema_steps()) == list(range(1, len(load_schema_steps()) + 1))
