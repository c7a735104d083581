"""Each store implements every method of its port, but those that follow from others."""

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.sqlite.store import SqliteStore
from propagation.ports import GraphStore

DERIVED = {"get_last_round", "get_current_epoch"}


@pytest.mark.parametrize("store", [SqliteStore, Neo4jStore])
def test_a_store_inherits_only_what_follows_from_other_methods(store):
    """A store that lacks a method would inherit the port's empty one, which returns None."""
    inherited = {
        name
        for name in dir(GraphStore)
        if not name.startswith("_")
        and callable(getattr(GraphStore, name))
        and getattr(store, name) is getattr(GraphStore, name)
    }
    assert inherited == DERIVED
