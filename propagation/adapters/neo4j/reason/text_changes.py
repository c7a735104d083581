"""Finds what new versions change among the nodes of lines and rules.

The graph has the current lines and rules of each client as nodes, for queries in Cypher. The
service reads a text, also an earlier version, from the body of its version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from propagation.adapters.shared.text_bodies import build_body
from propagation.model import ClientText, FilterRule, Line


@dataclass(frozen=True)
class NewTexts:
    """New versions of texts, with what can be computed before their transaction.

    Attributes:
        last: The last version of each client.
        rows: Rows of cypher/reason/texts/create_versions, without the commit numbers.
    """

    texts: Sequence[ClientText]
    last: Mapping[int, ClientText]
    rows: Sequence[list[object]]


def prepare_texts(
    texts: Sequence[ClientText],
    sequences: Sequence[int],
    interactions: Sequence[int] | None = None,
) -> NewTexts:
    """Convert new versions of texts to rows.

    Args:
        texts: Versions of one client are consecutive and ascending.
        sequences: The sequence of the log at which each text is written.
        interactions: The sequence of the interaction that wrote each text; None if no interaction
            wrote the texts.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    written_by = [None] * len(texts) if interactions is None else interactions
    return NewTexts(
        texts,
        {text.profile.ref: text for text in texts},
        [
            [
                text.profile.ref,
                text.profile.version,
                sequence,
                interaction,
                text.profile.next_id,
                text.watermark,
                text.dropped,
                build_text_body(text),
            ]
            for text, sequence, interaction in zip(texts, sequences, written_by, strict=True)
        ],
    )


def build_text_body(text: ClientText) -> bytes:
    """Encode the lines and rules of a text as a body."""
    profile = text.profile
    return build_body(profile.lines, text.filter_memory.rules, profile.ref, profile.version)


@dataclass(frozen=True)
class NodeChanges:
    """Changes among the nodes of lines, or among those of filter rules.

    Attributes:
        deleted: [ref, keys of nodes]; the key of a line is its id, that of a rule its place.
        updated: [ref, key, version, columns].
        created: [ref, version, rows of a key and columns].
    """

    deleted: list[list[Any]] = field(default_factory=list)
    updated: list[list[Any]] = field(default_factory=list)
    created: list[list[Any]] = field(default_factory=list)

    def compare(
        self,
        text: ClientText,
        before: Mapping[int, list[object]],
        after: Mapping[int, list[object]],
    ) -> None:
        """Find the changes from stored nodes to those of a text.

        Args:
            before: Columns of the stored nodes, by key.
            after: Columns of the nodes of the text.
        """
        ref, version = text.profile.ref, text.profile.version
        if gone := sorted(before.keys() - after.keys()):
            self.deleted.append([ref, gone])
        if new := [[key, *columns] for key, columns in after.items() if key not in before]:
            self.created.append([ref, version, new])
        self.updated.extend(
            [ref, key, version, *columns]
            for key, columns in after.items()
            if key in before and columns != before[key]
        )


def find_node_changes(
    current: Mapping[int, ClientText], last: Mapping[int, ClientText]
) -> tuple[NodeChanges, NodeChanges]:
    """Compare new texts with the current ones.

    Args:
        current: The stored current text of each client that has one.
        last: The text of each client that becomes the current one.

    Returns:
        The changes of lines, and those of rules.
    """
    lines, rules = NodeChanges(), NodeChanges()
    for ref, text in last.items():
        before = current.get(ref) or ClientText.empty(ref)
        lines.compare(text, list_line_columns(before), list_line_columns(text))
        rules.compare(text, list_rule_columns(before), list_rule_columns(text))
    return lines, rules


def list_line_columns(text: ClientText) -> dict[int, list[object]]:
    """Return what the node of each line holds, by the line's id."""
    return {line.id: _build_line_columns(line) for line in text.profile.lines}


def list_rule_columns(text: ClientText) -> dict[int, list[object]]:
    """Return what the node of each rule holds, by the rule's place."""
    return dict(enumerate(map(_build_rule_columns, text.filter_memory.rules)))


def _build_line_columns(line: Line) -> list[object]:
    return [
        line.text,
        float(line.weight),
        line.author.value,
        list(line.attributes),
        [source.sequence for source in line.sources if source.message is None],
        [f"{router}.{version}" for router, version in line.messages],
    ]


def _build_rule_columns(rule: FilterRule) -> list[object]:
    return [
        rule.router,
        rule.attribute,
        float(rule.factor),
        rule.text,
        list(rule.evidence),
        rule.age,
    ]
