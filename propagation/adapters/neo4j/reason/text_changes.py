"""Finds what new versions change among the nodes of lines and rules.

The graph has the current lines and rules of each client as nodes, for queries in Cypher. The
service reads a text, also an earlier version, from the body of its version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from propagation.adapters.shared.text_bodies import BodyEncoder
from propagation.model import ClientText, FilterRule, Line, group_pairs

LINE_NAMES = ("text", "weight", "author", "attributes", "interactions", "messages")
RULE_NAMES = ("router", "attribute", "factor", "text", "evidence", "age")
Part = TypeVar("Part", bound=Line | FilterRule)


@dataclass(frozen=True)
class NewTexts:
    """New versions of texts, with what can be computed before their transaction.

    Attributes:
        by_client: The versions of each client, ascending.
        rows: Of each version what a row of cypher/reason/texts/create_versions holds, but for its
            sequence and its commit number.
    """

    texts: Sequence[ClientText]
    by_client: Mapping[int, Sequence[ClientText]]
    rows: Sequence[list[object]]


def prepare_texts(
    texts: Sequence[ClientText], interactions: Sequence[int] | None = None
) -> NewTexts:
    """Convert new versions of texts to rows.

    Args:
        texts: Versions of one client are consecutive and ascending.
        interactions: The sequence of the interaction that wrote each text; None if no interaction
            wrote the texts.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    encoder = BodyEncoder()
    wrote = [None] * len(texts) if interactions is None else interactions
    return NewTexts(
        texts,
        group_pairs((text.profile.ref, text) for text in texts),
        [
            [
                text.profile.ref,
                text.profile.version,
                interaction,
                text.profile.next_id,
                text.watermark,
                text.dropped,
                build_text_body(text, encoder),
            ]
            for text, interaction in zip(texts, wrote, strict=True)
        ],
    )


def build_text_body(text: ClientText, encoder: BodyEncoder) -> bytes:
    """Encode the lines and rules of a text as a body."""
    profile = text.profile
    return encoder.encode(profile.lines, text.filter_memory.rules, profile.ref, profile.version)


@dataclass(frozen=True)
class NodeChanges:
    """What to change among the nodes of lines, or of rules.

    Attributes:
        deleted: [ref, keys of nodes]; the key of a line is its id, that of a rule its place.
        updated: [ref, key, properties that change]; `since` is the version that wrote them.
        created: [ref, rows of a key, a version and columns].
    """

    deleted: list[list[Any]] = field(default_factory=list)
    updated: list[list[Any]] = field(default_factory=list)
    created: list[list[Any]] = field(default_factory=list)

    def add(
        self,
        ref: int,
        nodes: Sequence[tuple[int, Mapping[int, Part]]],
        build_columns: Callable[[Part], list[object]],
        names: Sequence[str],
    ) -> None:
        """Find the changes from stored nodes to those of the last text.

        Args:
            nodes: Of the stored text and of each new one, the version, and the lines or rules by
                key. Most are the same objects from one version to the next.
            names: The columns' properties.
        """
        before, after = nodes[0][1], nodes[-1][1]
        since = _find_versions(nodes)
        if gone := sorted(before.keys() - after.keys()):
            self.deleted.append([ref, gone])
        columns = {key: build_columns(after[key]) for key in after if key in since}
        if new := [[key, since[key], *columns[key]] for key in after if key not in before]:
            self.created.append([ref, new])
        for key, after_columns in columns.items():
            if key in before:
                changed = {
                    name: now
                    for name, now, then in zip(
                        names, after_columns, build_columns(before[key]), strict=True
                    )
                    if now != then
                }
                self.updated.append([ref, key, {"since": since[key], **changed}])


def _find_versions(nodes: Sequence[tuple[int, Mapping[int, Part]]]) -> dict[int, int]:
    """Return the version that wrote each line or rule that changed."""
    written: dict[int, int] = {}
    for (_, before), (version, after) in pairwise(nodes):
        for key, part in after.items():
            known = before.get(key)
            if known is not part and known != part:
                written[key] = version
    return written


def find_node_changes(
    current: Mapping[int, ClientText], new: Mapping[int, Sequence[ClientText]]
) -> tuple[NodeChanges, NodeChanges]:
    """Compare new texts with the current ones.

    Args:
        current: The stored current text of each client that has one.
        new: The versions of each client that follow, ascending.

    Returns:
        The changes of lines, and those of rules.
    """
    lines, rules = NodeChanges(), NodeChanges()
    for ref, texts in new.items():
        versions = [current.get(ref) or ClientText.empty(ref), *texts]
        lines.add(ref, [_index_lines(text) for text in versions], _build_line_columns, LINE_NAMES)
        rules.add(ref, [_index_rules(text) for text in versions], _build_rule_columns, RULE_NAMES)
    return lines, rules


def list_line_columns(text: ClientText) -> dict[int, list[object]]:
    """Return what the node of each line holds, by the line's id."""
    return {line.id: _build_line_columns(line) for line in text.profile.lines}


def list_rule_columns(text: ClientText) -> dict[int, list[object]]:
    """Return what the node of each rule holds, by the rule's place."""
    return dict(enumerate(map(_build_rule_columns, text.filter_memory.rules)))


def _index_lines(text: ClientText) -> tuple[int, dict[int, Line]]:
    return text.profile.version, {line.id: line for line in text.profile.lines}


def _index_rules(text: ClientText) -> tuple[int, dict[int, FilterRule]]:
    return text.profile.version, dict(enumerate(text.filter_memory.rules))


def build_message_key(router: int, version: int) -> str:
    """Return the key with which lines name a message in the graph."""
    return f"{router}.{version}"


def parse_message_key(key: str) -> tuple[int, int]:
    """Return (router, version) of a key that `build_message_key` returned."""
    router, version = key.split(".")
    return int(router), int(version)


def _build_line_columns(line: Line) -> list[object]:
    return [
        line.text,
        float(line.weight),
        line.author.value,
        list(line.attributes),
        [source.sequence for source in line.sources if source.sequence is not None],
        [build_message_key(*message) for message in line.messages],
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
