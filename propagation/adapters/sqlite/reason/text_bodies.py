"""The body of a profile version (its lines and filter rules) as stored bytes, and back.

The first byte names the form: "[" is JSON as it stands (what schema 4 and earlier wrote), 1 is raw
deflate of the same JSON under the dictionary of form 1, 2 is zstd under that of form 2
(benchmarks/body_dictionary.py made it). All are read, 2 is written. A form, its dictionary
included, is never edited: a change is the next number."""

import threading
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any

import orjson
import zstandard

from propagation.adapters.shared.json_text import without_nul
from propagation.model.clients.filter_memory import FilterMemory, FilterRule
from propagation.model.clients.profile import Author, Line, Source

DEFLATED, ZSTD = b"\x01", b"\x02"
WINDOW = -13
ZSTD_LEVEL = 3
SOURCES_HELD = 65_536
# What bodies have in common, the most frequent last: deflate reaches back to it from the first byte
# on.
DICTIONARY_1 = (
    b'"evidence":["age":Be wary of what theWelcome what thePut news ofWeigh as any other.Leave out : it did not fit the choices '
    b'made. first: choices bear it out."Chosen once by someone drawn to Has found a first taker fond of People fond of  have '
    b"chosen itHas some takers among lovers of Often chosen by people drawn to Well liked by those who enjoy A favourite of "
    b"people drawn to Lovers of  choose it again and again.Has had a first taste of Once tried Made a single choice of Enjoys "
    b"Has a liking for , such as Comes back now and then to , as with Often chooses , lately Has a steady taste for , as in "
    b"Regularly picks : recently Keeps returning to : lately Loves ; the latest choices are Is drawn above all to , most recently "
    b"The  community, which it reaches, still asks for Its audience, drawn to , stays with The  community, too, stays with "
    b"Others drawn to  share the taste for People who share the taste for  now choose Word from the  community: it is discovering "
    b"Heard from lovers of : look at Heard from those around it (): they now choose The  community, which it reaches, is "
    b"discovering Others drawn to  are turning to Its audience, drawn to , is turning to  and , seen around \xe2\x80\x9c"
    b'\xe2\x80\x9d, listed under .",["],2.0,"catalogue",[]],[1,"\xe2\x80\x9c","],1.0,"interaction",[[,null,null],['
    b']],"rules":[{"router":null,"attribute":"","factor":0.8,"text":","factor":1.25,"text":"'
    b' (1994)\xe2\x80\x9d.",["","],0.4,"reception",[[null,'
)


def body_of(lines: Sequence[Line], rules: Sequence[FilterRule]) -> bytes:
    """In form 2. Raises InvalidInput on U+0000 in a text."""
    return packed_body(
        without_nul(
            orjson.dumps([[_line_row(line) for line in lines], [_rule_row(rule) for rule in rules]])
        )
    )


def parts_of(body: bytes) -> tuple[tuple[Line, ...], FilterMemory]:
    """Lines and filter memory, of any form."""
    lines, rules = _plain(body)
    return tuple(_line(line) for line in lines), FilterMemory(
        rules=tuple(_rule(rule) for rule in rules)
    )


class BodyReader:
    """Reads versions of one client, one after another: a line or a rule that stayed as it was is
    the same object."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[list[Any], Line]] = {}
        self._rules: dict[tuple[Any, Any], tuple[dict[str, Any], FilterRule]] = {}

    def parts_of(self, plain: bytes) -> tuple[tuple[Line, ...], FilterMemory]:
        """Lines and filter memory of a body's JSON."""
        lines, rules = orjson.loads(plain)
        return tuple(map(self._line, lines)), FilterMemory(rules=tuple(map(self._rule, rules)))

    def _line(self, row: list[Any]) -> Line:
        known = self._lines.get(row[0])
        if known is None or known[0] != row:
            known = self._lines[row[0]] = (row, _line(row))
        return known[1]

    def _rule(self, row: dict[str, Any]) -> FilterRule:
        target = (row["router"], row["attribute"])
        known = self._rules.get(target)
        if known is None or known[0] != row:
            known = self._rules[target] = (row, _rule(row))
        return known[1]


def cited_messages(body: bytes) -> list[tuple[int, int]]:
    """(router, version) of the messages that its lines rest on."""
    return [
        (router, version)
        for line in _plain(body)[0]
        for _, router, version in line[5]
        if router is not None
    ]


def plain_body(body: bytes) -> bytes:
    """The JSON of a body of any form."""
    if body[:1] == ZSTD:
        return _zstd().unpack.decompress(memoryview(body)[1:])
    if body[:1] == DEFLATED:
        inflate = zlib.decompressobj(WINDOW, DICTIONARY_1)
        return inflate.decompress(memoryview(body)[1:])
    return body


def packed_body(plain: bytes) -> bytes:
    """A body's JSON in form 2."""
    return ZSTD + _zstd().pack.compress(plain)


def _plain(body: bytes) -> Any:
    return orjson.loads(plain_body(body))


def _line_row(line: Line) -> list[object]:
    return [
        line.id,
        line.text,
        line.attributes,
        line.weight,
        line.author,
        [[source.sequence, source.router, source.version] for source in line.sources],
    ]


def _line(row: Sequence[Any]) -> Line:
    id_, text, attributes, weight, author, sources = row
    return Line(
        id=id_,
        text=text,
        attributes=tuple(attributes),
        weight=weight,
        author=Author(author),
        sources=tuple(starmap(_source, sources)),
    )


@lru_cache(SOURCES_HELD)
def _source(sequence: int | None, router: int | None, version: int | None) -> Source:
    return Source(sequence=sequence, router=router, version=version)


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


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = zstandard.ZstdCompressionDict(
        (Path(__file__).parent / "body_dictionary_2.zstd").read_bytes()
    )
    dictionary.precompute_compress(level=ZSTD_LEVEL)
    return dictionary


class _Zstd(threading.local):
    """A thread's own: neither may be used by two at a time."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(
            level=ZSTD_LEVEL, dict_data=_dictionary(), write_dict_id=False
        )
        self.unpack = zstandard.ZstdDecompressor(dict_data=_dictionary())


@cache
def _zstd() -> _Zstd:
    return _Zstd()
