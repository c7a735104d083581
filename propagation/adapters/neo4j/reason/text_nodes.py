"""Converts texts to properties of their nodes, and back.

Lines are stored as lists of one length, so that Cypher can read them.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from propagation.adapters.shared.json_text import without_nul
from propagation.model import Author, ClientText, FilterMemory, FilterRule, Line, Profile, Source

NONE = -1
"""Stands for None in lists of numbers, which have no gaps on the server."""


def text_row(text: ClientText, sequence: int) -> list[object]:
    """Convert a text to a row of cypher/reason/texts/create_texts.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    profile = text.profile
    sources = [(line.id, source) for line in profile.lines for source in line.sources]
    rules = [_rule_row(rule) for rule in text.filter_memory.rules]
    texts = [line.text for line in profile.lines]
    names = [name for line in profile.lines for name in line.attributes]
    without_nul(orjson.dumps((texts, names, rules)))
    return [
        profile.ref,
        profile.version,
        sequence,
        profile.next_id,
        text.watermark,
        text.dropped,
        [line.id for line in profile.lines],
        texts,
        [float(line.weight) for line in profile.lines],
        [line.author.value for line in profile.lines],
        [line.id for line in profile.lines for _ in line.attributes],
        names,
        [id_ for id_, _ in sources],
        [_number(source.sequence) for _, source in sources],
        [_number(source.router) for _, source in sources],
        [_number(source.version) for _, source in sources],
        orjson.dumps(rules).decode() if rules else None,
        [rule.router for rule in text.filter_memory.rules if rule.router is not None],
    ]


def text_of(row: Sequence[Any]) -> ClientText:
    """Convert a row of cypher/reason/texts/current_texts to a text."""
    (
        ref,
        version,
        next_id,
        watermark,
        dropped,
        ids,
        texts,
        weights,
        authors,
        attribute_lines,
        attributes,
        source_lines,
        sequences,
        routers,
        versions,
        rules,
    ) = row
    named: dict[int, list[str]] = {}
    for id_, name in zip(attribute_lines, attributes, strict=True):
        named.setdefault(id_, []).append(name)
    cited: dict[int, list[Source]] = {}
    for id_, sequence, router, message in zip(
        source_lines, sequences, routers, versions, strict=True
    ):
        cited.setdefault(id_, []).append(
            Source(sequence=_maybe(sequence), router=_maybe(router), version=_maybe(message))
        )
    lines = tuple(
        Line(
            id=id_,
            text=text,
            attributes=tuple(named.get(id_, ())),
            weight=weight,
            sources=tuple(cited.get(id_, ())),
            author=Author(author),
        )
        for id_, text, weight, author in zip(ids, texts, weights, authors, strict=True)
    )
    memory = (
        FilterMemory(rules=tuple(_rule(rule) for rule in orjson.loads(rules)))
        if rules
        else FilterMemory()
    )
    return ClientText(
        profile=Profile(ref=ref, version=version, next_id=next_id, lines=lines),
        filter_memory=memory,
        watermark=watermark,
        dropped=dropped,
    )


def _number(value: int | None) -> int:
    return NONE if value is None else value


def _maybe(value: int) -> int | None:
    return None if value == NONE else value


def _rule_row(rule: FilterRule) -> dict[str, object]:
    return {
        "router": rule.router,
        "attribute": rule.attribute,
        "factor": rule.factor,
        "text": rule.text,
        "evidence": rule.evidence,
        "age": rule.age,
    }


def _rule(row: dict[str, Any]) -> FilterRule:
    return FilterRule(**{**row, "evidence": tuple(row["evidence"])})
