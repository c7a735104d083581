"""The connection to the server: statements, transactions, errors, schema, leases."""

from propagation.adapters.neo4j.connection.database import Neo4jDatabase, StorePart, Transaction
from propagation.adapters.neo4j.connection.leases import Neo4jLeases
from propagation.adapters.neo4j.connection.schema import (
    check_version,
    join_search_words,
    join_words,
    load_schema_steps,
    open_database,
)
from propagation.adapters.neo4j.connection.statements import load_statements
