"""Texts of clients as rows: profile versions, merges and gradients."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from propagation.adapters.sqlite.rows import dumped, many, put
from propagation.model.filter_memory import FilterMemory, FilterRule
from propagation.model.gradient import Gradient, Module
from propagation.model.profile import Author, Line, Profile, Source
from propagation.model.text import ClientText, Merged, Reasoned
from propagation.ports.graph import VersionClash

SOURCES_HELD = 65_536
MERGED = "ref, profile_version, router, router_version, outcome"
GRADIENT = "sequence, module, owner, writer, reward, text, attributes"
TEXT = ("json_array(v.ref, v.version, v.next_id, json(v.lines), json(v.rules), v.watermark, v.dropped)")


def put_texts(connection: sqlite3.Connection, texts: Sequence[tuple[ClientText, int]], at: int) -> None:
    """Texts with their sequences, in order. Raises VersionClash where one does not follow the stored version."""
    refs = sorted({text.profile.ref for text, _ in texts})
    newest = {ref: version for ref, version in many(
        connection, "SELECT json_group_array(json_array(e.value, (SELECT max(version) FROM profile_version WHERE ref = e.value)))"
                    " FROM json_each(?) e", dumped(refs)) if version is not None}
    rows = []
    for text, sequence in texts:
        profile = text.profile
        if profile.version != newest.get(profile.ref, 0) + 1:
            raise VersionClash(profile.ref)
        newest[profile.ref] = profile.version
        rows.append((profile.ref, profile.version, sequence, profile.next_id, [_line_row(line) for line in profile.lines],
                     [rule.model_dump() for rule in text.filter_memory.rules], text.watermark, text.dropped, at))
    put(connection, "profile_version", 9, rows)


def put_merged(connection: sqlite3.Connection, merged: Sequence[tuple[Merged, int]]) -> None:
    put(connection, "merged", 6, [(merge.ref, merge.profile_version, merge.router, merge.router_version, merge.outcome, sequence)
                                  for merge, sequence in merged])


def put_gradients(connection: sqlite3.Connection, reasoned: Sequence[Reasoned]) -> None:
    put(connection, "gradient", 7, [(g.sequence, g.module, g.owner, g.writer, g.reward, g.text, g.attributes)
                                    for result in reasoned for g in result.gradients])


def newest_texts(connection: sqlite3.Connection, refs: Sequence[int]) -> dict[int, ClientText]:
    """The current text of each client that has one."""
    rows = many(connection, f"SELECT json_group_array({TEXT}) FROM json_each(?) e CROSS JOIN profile_version v"
                            " ON v.ref = e.value AND v.version = (SELECT max(version) FROM profile_version WHERE ref = e.value)",
                dumped(sorted(set(refs))))
    return {row[0]: _text(row) for row in rows}


def text_at(connection: sqlite3.Connection, ref: int, sequence: int) -> ClientText | None:
    """The last version written for an interaction at or before a sequence."""
    rows = many(connection, f"SELECT json_group_array({TEXT}) FROM (SELECT * FROM profile_version WHERE ref = ? AND sequence <= ?"
                            " ORDER BY version DESC LIMIT 1) v", ref, sequence)
    return _text(rows[0]) if rows else None


def nothing(ref: int) -> ClientText:
    """The text of a client that has none yet."""
    return ClientText(profile=Profile(ref=ref))


def gradient_of(row: Sequence[Any]) -> Gradient:
    """A row of GRADIENT, its attributes parsed."""
    return Gradient.model_construct(sequence=row[0], module=Module(row[1]), owner=row[2], writer=row[3], reward=row[4],
                                    text=row[5], attributes=tuple(row[6]))


def merged_of(row: Sequence[Any]) -> Merged:
    """A row of MERGED."""
    return Merged.model_construct(ref=row[0], profile_version=row[1], router=row[2], router_version=row[3], outcome=row[4])


def _text(row: Sequence[Any]) -> ClientText:
    ref, version, next_id, lines, rules, watermark, dropped = row
    return ClientText.model_construct(
        profile=Profile.model_construct(ref=ref, version=version, next_id=next_id, lines=tuple(_line(line) for line in lines)),
        filter_memory=FilterMemory(rules=tuple(FilterRule.model_validate(rule) for rule in rules)),
        watermark=watermark, dropped=dropped)


def _line_row(line: Line) -> list[object]:
    return [line.id, line.text, line.attributes, line.weight, line.author,
            [[source.sequence, source.router, source.version] for source in line.sources]]


def _line(row: Sequence[Any]) -> Line:
    id_, text, attributes, weight, author, sources = row
    return Line.model_construct(
        id=id_, text=text, attributes=tuple(attributes), weight=weight, author=Author(author),
        sources=tuple(_source(s, r, v) for s, r, v in sources))


@lru_cache(SOURCES_HELD)
def _source(sequence: int | None, router: int | None, version: int | None) -> Source:
    return Source.model_construct(sequence=sequence, router=router, version=version)
