"""Formats values of py2neo as text.

py2neo's own nodes and paths are not used: to build the ends of a path, py2neo asks the server for
each node again, and a table of a few hundred paths took seconds.
"""

from collections.abc import Sequence
from typing import Any

from interchange.packstream import Structure

NODE, RELATIONSHIP, PATH = ord("N"), ord("R"), ord("P")
TEXT_CHARS = 48
SHOWN = {
    "Client": "id",
    "Router": "number",
    "Message": "name",
    "Attribute": "name",
    "Interaction": "sequence",
    "ProfileVersion": "version",
    "EvolutionRun": "run",
}


def format_value(value: Any) -> str:
    """Format nodes and paths by name, numbers and texts as they are.

    Structures are those of Bolt 4.
    """
    if isinstance(value, Structure):
        if value.tag == PATH:
            return _path(*value.fields)
        if value.tag == NODE:
            return _node(value)
        if value.tag == RELATIONSHIP:
            return f"-[{value.fields[3]}]->"
    if isinstance(value, (list, tuple)):
        return "; ".join(format_value(part) for part in value)
    return "" if value is None else str(value)


def _path(nodes: Sequence[Any], relationships: Sequence[Any], steps: Sequence[int]) -> str:
    """Format a path.

    Args:
        steps: After the first node, in pairs: the relationship (counted from 1; negative against
        its direction) and the node it leads to (counted from 0).
    """
    words = [_node(nodes[0])]
    for step, place in zip(steps[::2], steps[1::2], strict=True):
        kind = relationships[abs(step) - 1].fields[1]
        words += [f"-{kind}->" if step > 0 else f"<-{kind}-", _node(nodes[place])]
    return " ".join(words)


def _node(node: Any) -> str:
    _, labels, properties = node.fields
    labels = sorted(labels)
    named = next((label for label in labels if label in SHOWN), None)
    name = properties.get(SHOWN[named]) if named else None
    kind = next((label for label in labels if label != "Client"), "?")
    short = str(name)[:TEXT_CHARS] if name is not None else ""
    return f"({kind} {short})" if short else f"({kind})"
