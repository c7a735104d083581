"""The statements' files: each says what it takes, and nothing that it does not say reaches a
server."""

import re
from pathlib import Path

import pytest

from propagation.adapters.neo4j.connection import (
    Neo4jDatabase,
    load_statements,
    parse_statement,
    schema_steps,
)
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import BrokenData

ADAPTER = Path("propagation/adapters/neo4j")
GOOD = (
    "// name: a/b\n// purpose: says it\n// parameters: ref, now\nMATCH (c {ref: $ref}) SET "
    "c.at = $now RETURN c;\n"
)


def test_a_file_says_its_name_purpose_and_parameters():
    statement = parse_statement("a/b", GOOD)
    assert (statement.name, statement.purpose, statement.parameters) == (
        "a/b",
        "says it",
        {"ref", "now"},
    )
    assert statement.text == "MATCH (c {ref: $ref}) SET c.at = $now RETURN c"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (GOOD.replace("ref, now", "ref"), r"a/b\.cypher.*does not name \$now"),
        (GOOD.replace("ref, now", "ref, now, limit"), "names limit"),
        (GOOD.replace("ref, now", "none"), "does not name"),
        (GOOD.replace("RETURN c", "RETURN c, $`no w`"), r"does not name \$no w"),
        (GOOD.replace("RETURN c", "RETURN c, $été"), r"does not name \$été"),
        (GOOD.replace("RETURN c", "RETURN c, $0"), r"does not name \$0"),
        (GOOD.replace("a/b", "a/c"), "'a/c'"),
        (GOOD.replace("// purpose: says it\n", ""), "purpose"),
        (GOOD.replace("// parameters: ref, now\n", ""), "parameters"),
    ],
)
def test_a_file_that_does_not_say_what_it_uses_is_an_error(wrong, said):
    with pytest.raises(BrokenData, match=said):
        parse_statement("a/b", wrong)


def test_what_looks_like_a_parameter_in_a_text_or_a_comment_is_none():
    text = GOOD.replace("RETURN c", "RETURN c, '$no', \"$no\", `$no` // $no\n/* $no\n$no */")
    assert parse_statement("a/b", text).parameters == {"ref", "now"}


def test_an_undeclared_parameter_stops_the_start_before_the_database_is_asked(
    tmp_path, monkeypatch
):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.cypher").write_text(GOOD.replace("ref, now", "ref"))
    monkeypatch.setattr(
        "propagation.adapters.neo4j.connection.statements.cypher_folder", lambda: tmp_path
    )
    with pytest.raises(BrokenData, match=r"\$now"):
        Neo4jStore(Neo4jSettings(uri="bolt://127.0.0.1:1"))


def test_other_parameters_than_declared_are_not_sent():
    database = Neo4jDatabase(Neo4jSettings(), {"a/b": parse_statement("a/b", GOOD)})
    assert "$ref" in database.query("a/b", {"ref": 1, "now": 2})
    for given in ({"ref": 1}, {"ref": 1, "now": 2, "limit": 3}):
        with pytest.raises(TypeError, match="a/b takes"):
            database.query("a/b", given)


def test_every_statement_is_used_and_every_used_one_is_there():
    code = "".join(file.read_text() for file in ADAPTER.rglob("*.py"))
    used = set(re.findall(r'"([a-z]+(?:/[a-z_]+)+)"', code))
    assert used == set(load_statements())


def test_no_query_text_is_built_in_python():
    keyword = re.compile(r"\b(MATCH|MERGE|UNWIND|CREATE|DELETE|SET)\b [(\[a-z$]")
    assert not [file.name for file in ADAPTER.rglob("*.py") if keyword.search(file.read_text())]


def test_schema_steps_are_numbered_one_after_another():
    assert list(schema_steps()) == list(range(1, len(schema_steps()) + 1))
