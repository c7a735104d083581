"""A profile version's body: compressed JSON and a digest.

The JSON holds the lines and filter rules. It is compressed with zstd and a dictionary
(text_body_dictionary.zstd, made by benchmarks/body_dictionary.py). The dictionary of a released
version is never replaced, because stored bodies can only be read with it.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import orjson
import zstandard

from propagation.adapters.shared.digests import DIGEST_BYTES, compute_digest
from propagation.adapters.shared.json_text import escape_words, remove_nul
from propagation.adapters.shared.reason_rows import (
    build_line,
    build_line_row,
    build_rule,
    build_rule_row,
)
from propagation.model import DamagedText, FilterMemory, FilterRule, Line

Part = TypeVar("Part", Line, FilterRule)
ZSTD_LEVEL = 3
ASCII, MARKS = bytes(range(128)), ("“".encode(), "”".encode())
RULE = b'{"router":'
"""The beginning of a rule's JSON, before its router.

No text holds these bytes, because quotes in texts are escaped.
"""


class BodyEncoder:
    """Encodes the bodies of many versions.

    A line or rule that versions share as one object is encoded once: that takes longer than to
    compress a body.
    """

    def __init__(self) -> None:
        # Each value also holds what its key names, so that no other object gets the same id.
        self._known: dict[int, tuple[Line | FilterRule, bytes]] = {}

    def encode(
        self, lines: Sequence[Line], rules: Sequence[FilterRule], ref: int, version: int
    ) -> bytes:
        """Encode the lines and rules of one version.

        Args:
            ref: The client, as in `pack_body`.
            version: Number of the profile version, as in `pack_body`.

        Raises:
            InvalidInput: A text holds U+0000.
        """
        return pack_body(
            b"[[%b],[%b]]"
            % (
                b",".join([self._encode(line, build_line_row) for line in lines]),
                b",".join([self._encode(rule, build_rule_row) for rule in rules]),
            ),
            ref,
            version,
        )

    def _encode(self, part: Part, build_row: Callable[[Part], object]) -> bytes:
        known = self._known.get(id(part))
        if known is None:
            known = self._known[id(part)] = part, remove_nul(orjson.dumps(build_row(part)))
        return known[1]


def is_body_of(body: bytes, ref: int, version: int) -> bool:
    """Return whether a body was written for this version of this client."""
    reader = _create_zstd().unpack.decompressobj()
    reader.decompress(body)
    return reader.unused_data == compute_digest(body[:-DIGEST_BYTES], ref, version)


def read_parts(body: bytes) -> tuple[tuple[Line, ...], FilterMemory]:
    """Decode the lines and the filter memory of a body."""
    lines, rules = orjson.loads(decompress_body(body))
    return tuple(build_line(line) for line in lines), FilterMemory(
        rules=tuple(build_rule(rule) for rule in rules)
    )


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
        DamagedText: The body is damaged.
    """
    try:
        return _create_zstd().unpack.decompress(body)
    except zstandard.ZstdError as error:
        raise DamagedText(
            f"a stored profile is damaged ({error}); `propagation doctor` says whose; restore the"
            " database from a back-up"
        ) from error


def pack_body(plain: bytes, ref: int, version: int) -> bytes:
    """Compress the JSON of a body, and append a digest.

    Args:
        plain: The JSON.
        ref: The client. The digest covers it, so that no other version's body has this digest.
        version: Number of the profile version, which the digest also covers.
    """
    body = _create_zstd().pack.compress(plain)
    return body + compute_digest(body, ref, version)


def describe_damage(body: bytes | None, ref: int, version: int) -> str | None:
    """Describe what is wrong with a stored body; None if nothing is."""
    if body is None:
        return f"client {ref}: version {version} of its profile has lost its lines and rules"
    try:
        read_parts(body)
        if not is_body_of(body, ref, version):
            return f"client {ref}: version {version} of its profile is not what was written"
    except (DamagedText, ValueError, TypeError, LookupError) as error:
        reason = error.__cause__ or error  # without the advice to run this check
        return f"client {ref}: version {version} of its profile cannot be read: {reason}"
    return None


def encode_words(words: Iterable[str]) -> list[bytes]:
    """Case-fold words, and encode them as JSON writes them in texts."""
    return [word.encode() for word in escape_words(sorted({word.casefold() for word in words}))]


def holds_word(body: bytes, words: Iterable[bytes]) -> bool:
    """Return whether a body's lines or rules hold a word.

    Args:
        words: Words as `encode_words` returns them.
    """
    return any(map(_fold(decompress_body(body)).__contains__, words))


def _fold(plain: bytes) -> bytes:
    """Case-fold a text in UTF-8.

    Most bodies hold only ASCII and quotation marks, for which the faster `lower` is enough.
    """
    strange = plain.translate(None, ASCII)
    for mark in MARKS:
        strange = strange.replace(mark, b"")
    return plain.decode().casefold().encode() if strange else plain.lower()


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


_create_zstd = cache(_Zstd)
