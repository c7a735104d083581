"""Which commands work on a file, and what they say if the graph is on a server."""

from pathlib import Path

import pytest

from services.cli.access import UsageProblem, require_database_in_file, require_existing_database
from services.config.settings import Settings

ON_SERVER = Settings(store="neo4j")


def test_only_one_store_keeps_the_graph_in_a_file(tmp_path):
    path = tmp_path / "graph.db"
    assert Settings(database=path).graph_file == path
    assert ON_SERVER.graph_file is None
    assert ON_SERVER.graph.startswith("bolt://")


@pytest.mark.parametrize("exists", [False, True])
def test_a_graph_on_a_server_is_not_kept_as_a_file(exists):
    with pytest.raises(UsageProblem, match=r"bolt://.*neo4j-admin"):
        require_database_in_file(ON_SERVER, exists=exists)


def test_a_file_must_exist_unless_it_is_restored(tmp_path):
    missing = Settings(database=tmp_path / "none.db")
    for check in (require_existing_database, require_database_in_file):
        with pytest.raises(UsageProblem, match=r"none\.db does not exist"):
            check(missing)
    assert require_database_in_file(missing, exists=False) is missing
    assert require_existing_database(ON_SERVER) is ON_SERVER, (
        "whether it exists shows when it is opened"
    )


def test_nothing_else_in_services_asks_which_store_it_is():
    services = Path(__file__).parents[4] / "services"
    assert [
        path.relative_to(services).as_posix()
        for path in services.rglob("*.py")
        if "store ==" in path.read_text() or "store !=" in path.read_text()
    ] == ["config/settings.py"]
