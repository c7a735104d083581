"""A profile version's body: compressed JSON and a digest.

The JSON holds its lines and filter rules.

It is compressed with zstd and a dictionary (text_body_dictionary.zstd, made by
benchmarks/body_dictionary.py). The dictionary of a released version is never replaced: stored
bodies can only be read with it.
"""

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any

import orjson
import zstandard

from propagation.adapters.shared.digests import DIGEST_BYTES, compute_digest
from propagation.adapters.shared.json_text import remove_nul
from propagation.adapters.shared.reason_rows import build_rule, build_rule_row
from propagation.model import Author, DamagedText, FilterMemory, FilterRule, Line, Source

ZSTD_LEVEL = 3
RULE = b'{"router":'
"""The beginning of a rule, before its router; no text holds it, as quotes in texts are escaped."""


def build_body(lines: Sequence[Line], rules: Sequence[FilterRule], ref: int, version: int) -> bytes:
    """Encode lines and rules.

    Args:
        ref: See pack_body.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    return pack_body(
        remove_nul(
            orjson.dumps(
                [
                    [_build_line_row(line) for line in lines],
                    [build_rule_row(rule) for rule in rules],
                ]
            )
        ),
        ref,
        version,
    )


def is_body_of(body: bytes, ref: int, version: int) -> bool:
    """Return whether a body was written for this version."""
    reader = _create_zstd().unpack.decompressobj()
    reader.decompress(body)
    return reader.unused_data == compute_digest(body[:-DIGEST_BYTES], ref, version)


def read_parts(body: bytes) -> tuple[tuple[Line, ...], FilterMemory]:
    """Decode lines and filter memory."""
    lines, rules = orjson.loads(decompress_body(body))
    return tuple(_line(line) for line in lines), FilterMemory(
        rules=tuple(build_rule(rule) for rule in rules)
    )


class BodyReader:
    """Reads versions of one client.

    An unchanged line or rule stays the same object.
    """

    def __init__(self) -> None:
        self._lines: dict[int, tuple[list[Any], Line]] = {}
        self._rules: dict[tuple[Any, Any], tuple[dict[str, Any], FilterRule]] = {}

    def read_parts(self, plain: bytes) -> tuple[tuple[Line, ...], FilterMemory]:
        """Return lines and filter memory of a body's JSON."""
        lines, rules = orjson.loads(plain)
        return tuple(map(self._line, lines)), FilterMemory(
            rules=tuple(map(self._parse_rule, rules))
        )

    def _line(self, row: list[Any]) -> Line:
        known = self._lines.get(row[0])
        if known is None or known[0] != row:
            known = self._lines[row[0]] = (row, _line(row))
        return known[1]

    def _parse_rule(self, row: dict[str, Any]) -> FilterRule:
        target = (row["router"], row["attribute"])
        known = self._rules.get(target)
        if known is None or known[0] != row:
            known = self._rules[target] = (row, build_rule(row))
        return known[1]


def list_cited_messages(body: bytes) -> list[tuple[int, int]]:
    """Return (router, version) of the messages that the lines rest on."""
    return [
        (router, version)
        for line in orjson.loads(decompress_body(body))[0]
        for _, router, version in line[5]
        if router is not None
    ]


def decompress_body(body: bytes) -> bytes:
    """Return the JSON of a body.

    Raises:
        DamagedText: It is damaged.
    """
    try:
        return _create_zstd().unpack.decompress(body)
    except zstandard.ZstdError as error:
        raise DamagedText(
            f"a stored profile is damaged ({error}); `propagation doctor` says whose; restore the"
            " database from a back-up"
        ) from error


def pack_body(plain: bytes, ref: int, version: int) -> bytes:
    """Compress the JSON of a body.

    Args:
        ref: The client and the number of the version: no other version's body has this digest.
    """
    body = _create_zstd().pack.compress(plain)
    return body + compute_digest(body, ref, version)


def _build_line_row(line: Line) -> list[object]:
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
        sources=tuple(starmap(_parse_source, sources)),
    )


@lru_cache(maxsize=65_536)
def _parse_source(sequence: int | None, router: int | None, version: int | None) -> Source:
    return Source(sequence=sequence, router=router, version=version)


@cache
def _load_dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = zstandard.ZstdCompressionDict(
        (Path(__file__).parent / "text_body_dictionary.zstd").read_bytes()
    )
    dictionary.precompute_compress(level=ZSTD_LEVEL)
    return dictionary


class _Zstd(threading.local):
    """Compressor and decompressor of one thread."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(
            level=ZSTD_LEVEL, dict_data=_load_dictionary(), write_dict_id=False
        )
        self.unpack = zstandard.ZstdDecompressor(dict_data=_load_dictionary())


@cache
def _create_zstd() -> _Zstd:
    return _Zstd()
