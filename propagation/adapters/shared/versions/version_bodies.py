"""Bodies of consecutive versions: most are differences to the version before.

Versions 1 to 16 of a client's text are a group, then 17 to 32, and so on. The first version of a
group is stored in full, so at most 16 bodies have to be read for one version. Any other version may
be stored in full, too. A version that does not directly follow a stored one always is.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import orjson

from propagation.adapters.shared.json_text import remove_nul
from propagation.adapters.shared.reason_rows import build_line, build_rule
from propagation.adapters.shared.text_bodies import (
    BodyEncoder,
    decompress_body,
    is_difference,
    pack_difference,
)
from propagation.adapters.shared.versions.text_differences import (
    Rows,
    apply_difference,
    find_difference,
)
from propagation.model import ClientText, DamagedText, FilterMemory, FilterRule, Line, Profile

VERSIONS_PER_GROUP = 16
UNREADABLE = (DamagedText, LookupError, TypeError, ValueError)
"""The errors of a body that cannot be read."""
Part = TypeVar("Part")
Built = TypeVar("Built")


def find_first_of_group(version: int) -> int:
    """Return the first version of the group that a version belongs to."""
    return version - (version - 1) % VERSIONS_PER_GROUP


class VersionEncoder:
    """Encodes versions of texts as bodies."""

    def __init__(self) -> None:
        self._full = BodyEncoder()

    def encode(self, text: ClientText, before: ClientText | None) -> bytes:
        """Encode the lines and rules of a text.

        Args:
            before: The text that is stored as the version before; None to encode the text in full.

        Returns:
            A difference, if the version before is of the same group; else a full body.

        Raises:
            InvalidInput: A text holds U+0000.
        """
        profile = text.profile
        difference = None
        if (
            before is not None
            and find_first_of_group(profile.version)
            <= before.profile.version
            == profile.version - 1
        ):
            difference = find_difference(before, text)
        if difference is None:
            return self._full.encode(
                profile.lines, text.filter_memory.rules, profile.ref, profile.version
            )
        return pack_difference(remove_nul(orjson.dumps(difference)), profile.ref, profile.version)


class VersionDecoder:
    """Decodes the bodies of one client's versions, in ascending order.

    What stays from one version to the next stays the same object.
    """

    def __init__(self) -> None:
        self._version = 0
        self._rows: Rows = ([], [])
        self._damage: Exception | None = None
        self._lines: IdentityCache[Sequence[Any], Line] = IdentityCache(build_line)
        self._rules: IdentityCache[dict[str, Any], FilterRule] = IdentityCache(build_rule)

    def decode_rows(self, version: int, body: bytes | None) -> Rows:
        """Decode the rows of one version's lines and rules.

        Args:
            version: Above the versions that were decoded before.

        Raises:
            DamagedText: The body is damaged, or one that it builds on.
            LookupError, TypeError, ValueError: The body holds something else. UNREADABLE has all.
        """
        damage, self._damage = self._damage, None
        try:
            self._rows = self._decode(version, body, damage)
        except UNREADABLE as error:
            self._damage = error
            raise
        finally:
            self._version = version
        return self._rows

    def pass_over(self, version: int, body: bytes | None) -> None:
        """Decode a version that only later ones need.

        If it is damaged, those that build on it cannot be decoded.
        """
        with suppress(*UNREADABLE):
            self.decode_rows(version, body)

    def _decode(self, version: int, body: bytes | None, damage: Exception | None) -> Rows:
        if body is None:
            raise DamagedText("its lines and rules are missing")
        found = orjson.loads(decompress_body(body))
        if not is_difference(body):
            return found[0], found[1]
        if damage is not None:
            raise damage
        if self._version != version - 1:
            raise DamagedText(f"version {version - 1}, on which it builds, is missing")
        try:
            return apply_difference(found, self._rows)
        except (LookupError, TypeError, ValueError) as error:
            raise DamagedText(f"it does not build on version {version - 1}") from error

    def build(
        self, ref: int, version: int, next_id: int, watermark: int, dropped: int
    ) -> ClientText:
        """Build the text of the version that was decoded last.

        Args:
            ref: The client.
            version: The version, whose other columns follow.
        """
        lines, rules = self._rows
        return ClientText(
            profile=Profile(
                ref=ref,
                version=version,
                next_id=next_id,
                lines=tuple([self._lines.build(row) for row in lines]),
            ),
            filter_memory=FilterMemory(rules=tuple([self._rules.build(row) for row in rules])),
            watermark=watermark,
            dropped=dropped,
        )


class IdentityCache(dict[int, tuple[Part, Built]]):
    """What was built of objects, by their identity.

    To compare the objects would take longer.
    """

    def __init__(self, build: Callable[[Part], Built]) -> None:
        super().__init__()
        self._build = build

    def build(self, part: Part) -> Built:
        """Return what is built of an object, and build it only once."""
        known = self.get(id(part))
        if known is None:
            # The object is kept, too, so that no other one gets its identity.
            known = self[id(part)] = part, self._build(part)
        return known[1]
