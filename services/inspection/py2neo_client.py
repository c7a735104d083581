"""Runs a query through py2neo, an optional dependency, and returns rows of texts."""

from collections.abc import Mapping
from contextlib import closing

from propagation.adapters.neo4j.connection.settings import Neo4jSettings
from services.client.errors import Unreachable, UsageProblem
from services.inspection.queries import InspectQuery, Value, format_parameters
from services.runtime.errors import NotInstalled


def run_query(
    settings: Neo4jSettings, question: InspectQuery, parameters: Mapping[str, Value]
) -> tuple[list[str], list[list[str]]]:
    """Run a query.

    Raises:
        NotInstalled: py2neo is not installed.
        Unreachable: The server does not answer, or refuses the query.
        UsageProblem: The server rejects a parameter.
    """
    try:
        from py2neo import ConnectionProfile
        from py2neo.client import Connector
        from py2neo.cypher import Cursor
        from py2neo.errors import ConnectionBroken, ConnectionUnavailable, Neo4jError

        from services.inspection.formatting import format_value
    except ImportError as error:
        raise NotInstalled("propagation inspect", "inspect") from error
    one = (
        settings.uri.replace("neo4j", "bolt", 1)
        if settings.uri.startswith("neo4j")
        else settings.uri
    )  # all that py2neo speaks
    profile = ConnectionProfile(one, auth=(settings.user, settings.password.get_secret_value()))
    try:
        with closing(
            Connector(profile, init_size=1)
        ) as connector:  # it would try for ever to open its first one later
            answer = connector.auto_run(
                question.query, dict(parameters), graph_name=settings.database, readonly=True
            )
            connector.pull(answer, -1)
            cursor = Cursor(answer)
            return list(cursor.keys()), [
                [format_value(value) for value in record.values()] for record in cursor
            ]
    except (ConnectionUnavailable, ConnectionBroken, OSError) as error:
        raise Unreachable(
            f"no Neo4j answers at {settings.uri}, or none that takes this password; see"
            " neo4j.uri and"
            " neo4j.password"
        ) from error
    except Neo4jError as error:
        if error.category == "Statement":
            raise UsageProblem(
                f"{question.name} with {format_parameters(parameters)}:"
                f" {error.message.splitlines()[0]}"
            ) from error
        raise Unreachable(
            f"{settings.uri} refused the question {question.name}: {error}"
        ) from error
