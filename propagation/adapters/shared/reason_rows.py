"""Rows and records of texts and interactions, alike in every graph store."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import starmap
from typing import Any

import orjson

from propagation.model import (
    Author,
    ClientEvent,
    ClientText,
    FailedReasoning,
    FilterRule,
    Gradient,
    InteractionRow,
    Line,
    MessageFate,
    ModelExchange,
    Module,
    ReasonedInteraction,
    Source,
)

_parse_source = lru_cache(maxsize=65_536)(Source)
"""Builds a source from its sequence, router and version.

Sources are cached, because many lines rest on one source.
"""


def build_rule_row(rule: FilterRule) -> dict[str, object]:
    """Return the JSON object that stands for a rule.

    `first_router` is there only if it is known, as in rows of earlier releases.
    """
    row: dict[str, object] = {
        "router": rule.router,
        "attribute": rule.attribute,
        "factor": rule.factor,
        "text": rule.text,
        "evidence": rule.evidence,
        "age": rule.age,
    }
    return row if rule.first_router is None else row | {"first_router": rule.first_router}


def build_rule(row: dict[str, Any]) -> FilterRule:
    """Build a rule from its JSON object."""
    return FilterRule(**{**row, "evidence": tuple(row["evidence"])})


def build_line_row(line: Line) -> list[object]:
    """Return the JSON list that stands for a line."""
    return [
        line.id,
        line.text,
        line.attributes,
        line.weight,
        line.author,
        [[source.sequence, source.router, source.version] for source in line.sources],
    ]


def build_line(row: Sequence[Any]) -> Line:
    """Build a line from its JSON list."""
    id_, text, attributes, weight, author, sources = row
    return Line(
        id=id_,
        text=text,
        attributes=tuple(attributes),
        weight=float(weight),
        author=Author(author),
        sources=tuple(starmap(_parse_source, sources)),
    )


def build_version_record(
    text: ClientText, sequence: int, written_at: int, written_by: str | None
) -> Mapping[str, object]:
    """Return a profile version's record with its lines and filter rules."""
    return {
        "version": text.profile.version,
        "sequence": sequence,
        "written_at": written_at,
        "written_by": written_by or "",
        "merged_through_round": text.watermark,
        "dropped": text.dropped,
        "lines": [_build_line(line) for line in text.profile.lines],
        "filter_rules": [build_rule_row(rule) for rule in text.filter_memory.rules],
    }


def _build_line(line: Line) -> dict[str, object]:
    return {
        "id": line.id,
        "text": line.text,
        "attributes": list(line.attributes),
        "weight": line.weight,
        "author": line.author.value,
        "sources": [_build_source(source) for source in line.sources],
    }


def _build_source(source: Source) -> dict[str, object]:
    return (
        {"sequence": source.sequence}
        if source.message is None
        else {"router": source.router, "version": source.version}
    )


def list_authors(result: ReasonedInteraction) -> tuple[list[str] | None, str | None]:
    """Return the prompts and the fallback of a reasoned interaction.

    A prediction in the model's stead counts as a prompt, such as `predict:offline-1`.

    Returns:
        The prompts' names, and the fallback's name; None for either if there is none. Both are None
        for a dead letter.
    """
    if result.failure is not None:
        return None, None
    instead = [f"predict:{result.predicted_by}"] if result.predicted_by else []
    return [*result.usage.prompts, *instead] or None, result.usage.fallback or None


def build_interaction(row: Sequence[Any]) -> InteractionRow:
    """Build an interaction from a row of its fields, in their order."""
    return InteractionRow(
        sequence=row[0],
        event_id=row[1],
        user=row[2],
        item=row[3],
        negative=row[4],
        time=row[5],
        weight=row[6],
        prompts=tuple(row[7] or ()),
        fallback=row[8] or "",
    )


def build_gradient(row: Sequence[Any]) -> Gradient:
    """Build a gradient from a row of its fields, in their order."""
    return Gradient(
        sequence=row[0],
        module=Module(row[1]),
        owner=row[2],
        writer=row[3],
        reward=row[4],
        text=row[5],
        attributes=tuple(row[6]),
        epoch=row[7],
    )


def build_failed_reasoning(row: Sequence[Any]) -> FailedReasoning:
    """Build a dead letter from its stored fields, in their order."""
    sequence, reason, attempts, failed_at, asked, answered, queued = row
    return FailedReasoning(
        sequence, reason, attempts, failed_at, ModelExchange(asked, answered), bool(queued)
    )


def build_fate(counts: Sequence[int], first: Sequence[int]) -> MessageFate:
    """Build a message's fate from counts and the first receivers."""
    merged, filtered, empty, fell_out, other = counts
    return MessageFate(merged, filtered, empty, fell_out, other, tuple(first))


def build_client_event(row: Sequence[Any]) -> ClientEvent:
    """Build an event from its stored fields, in their order.

    Metadata is JSON, or None.
    """
    sequence, event_id, user, item, negative, time, weight, at, metadata, retracted = row
    return ClientEvent(
        sequence=sequence,
        event_id=event_id,
        user=user,
        item=item,
        negative=negative,
        time=time,
        weight=weight,
        at=at,
        metadata=orjson.loads(metadata) if metadata else {},
        retracted=bool(retracted),
    )
