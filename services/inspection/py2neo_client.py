"""Queries through py2neo, with rows of texts as their result.

py2neo is an optional dependency. Its own nodes and paths are not used: to build the ends of a path,
py2neo asks the server for each node again, so that a table of a few hundred paths took seconds.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from interchange.packstream import Structure
from py2neo import ConnectionProfile
from py2neo.client import Connector
from py2neo.cypher import Cursor
from py2neo.errors import ConnectionBroken, ConnectionUnavailable, Neo4jError

from propagation.adapters.neo4j.settings import Neo4jSettings
from services.client.errors import Unreachable, UsageProblem
from services.inspection.queries import InspectQuery, Value, format_parameters

NODE, RELATIONSHIP, PATH = ord("N"), ord("R"), ord("P")
TEXT_CHARS = 48
SHOWN = {
    "Client": "id",
    "Router": "number",
    "Message": "name",
    "Attribute": "name",
    "Interaction": "sequence",
    "ProfileVersion": "version",
    "Line": "id",
    "EvolutionRun": "run",
}


def format_value(value: Any) -> str:
    """Format nodes and paths by name, numbers and texts as they are.

    Structures are those of Bolt 4.
    """
    if isinstance(value, Structure):
        if value.tag == PATH:
            return _format_path(*value.fields)
        if value.tag == NODE:
            return _format_node(value)
        if value.tag == RELATIONSHIP:
            return f"-[{value.fields[3]}]->"
    if isinstance(value, (list, tuple)):
        return "; ".join(format_value(part) for part in value)
    return "" if value is None else str(value)


def _format_path(nodes: Sequence[Any], relationships: Sequence[Any], steps: Sequence[int]) -> str:
    """Format a path.

    Args:
        steps: After the first node, in pairs: the relationship (counted from 1; negative against
        its direction) and the node it leads to (counted from 0).
    """
    words = [_format_node(nodes[0])]
    for step, place in zip(steps[::2], steps[1::2], strict=True):
        kind = relationships[abs(step) - 1].fields[1]
        words += [f"-{kind}->" if step > 0 else f"<-{kind}-", _format_node(nodes[place])]
    return " ".join(words)


def _format_node(node: Any) -> str:
    _, labels, properties = node.fields
    named = next((label for label in sorted(labels) if label in SHOWN), None)
    kind = next((label for label in sorted(labels) if label != "Client"), "?")
    short = str(properties.get(SHOWN[named], ""))[:TEXT_CHARS] if named else ""
    if "Client" in labels:
        return f"({kind.lower()}:{short})"
    return f"({kind} {short})" if short else f"({kind})"


def run_query(
    settings: Neo4jSettings, question: InspectQuery, parameters: Mapping[str, Value]
) -> tuple[list[str], list[list[str]]]:
    """Run a question; return its columns and rows as text.

    Raises:
        PlainSecret: The password would be sent over a network unencrypted.
        Unreachable: The server does not answer, or refuses the query.
        UsageProblem: The server rejects a parameter.
    """
    # py2neo speaks to one server only.
    uri = (
        settings.uri.replace("neo4j", "bolt", 1)
        if settings.uri.startswith("neo4j")
        else settings.uri
    )
    profile = ConnectionProfile(uri, auth=settings.credentials())
    try:
        # Without init_size the connector would open its first connection later, and retry for ever.
        with closing(Connector(profile, init_size=1)) as connector:
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
            f"no Neo4j server answers at {settings.uri}, or it refuses the password; see neo4j.uri"
            " and neo4j.password"
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
