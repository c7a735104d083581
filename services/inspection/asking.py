"""A question asked of Neo4j by py2neo (an extra, which does this and nothing else), its answer as rows of texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.neo4j.settings import Neo4jSettings
from services.errors import NotInstalled
from services.failures import Unreachable
from services.inspection.questions import Question, Value

TEXT_CHARS = 48
SHOWN = {"Client": "id", "Router": "number", "Message": "name", "Attribute": "name", "Interaction": "sequence",
         "ProfileVersion": "version", "EvolutionRun": "run"}


def asked(settings: Neo4jSettings, question: Question, parameters: Mapping[str, Value]) -> tuple[list[str], list[list[str]]]:
    """(columns, rows). Raises NotInstalled, Unreachable."""
    try:
        from py2neo import Graph
        from py2neo.errors import Neo4jError, ServiceUnavailable
    except ImportError as error:
        raise NotInstalled("propagation inspect", "inspect") from error
    try:
        graph = Graph(settings.uri, auth=(settings.user, settings.password.get_secret_value()), name=settings.database)
        cursor = graph.run(question.query, dict(parameters))
        return list(cursor.keys()), [[in_words(value) for value in record.values()] for record in cursor]
    except (ServiceUnavailable, OSError) as error:
        raise Unreachable(f"no Neo4j answers at {settings.uri}; see neo4j.uri and neo4j.password") from error
    except Neo4jError as error:
        raise Unreachable(f"{settings.uri} refused the question {question.name}: {error}") from error


def in_words(value: Any) -> str:
    """Nodes and paths as a person reads them; numbers and texts as they are."""
    from py2neo.data import Node, Path, Relationship

    if isinstance(value, Path):
        return _path(value)
    if isinstance(value, Node):
        return _node(value)
    if isinstance(value, Relationship):
        return f"-[{type(value).__name__}]->"
    if isinstance(value, (list, tuple)):
        return "; ".join(in_words(part) for part in value)
    return "" if value is None else str(value)


def _path(path: Any) -> str:
    words = [_node(path.nodes[0])]
    for before, step, after in zip(path.nodes, path.relationships, path.nodes[1:], strict=False):
        arrow = f"-{type(step).__name__}->" if step.start_node == before else f"<-{type(step).__name__}-"
        words += [arrow, _node(after)]
    return " ".join(words)


def _node(node: Any) -> str:
    labels: Sequence[str] = sorted(node.labels)
    named = next((label for label in labels if label in SHOWN), None)
    name = node.get(SHOWN[named]) if named else None
    kind = next((label for label in labels if label != "Client"), "?")
    short = str(name)[:TEXT_CHARS] if name is not None else ""
    return f"({kind} {short})" if short else f"({kind})"
