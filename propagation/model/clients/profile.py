"""A client's text, and the messages that changed it.

The text is a filter memory and a profile: a bounded list of lines, each with its provenance.

Source: RecNet 2.1.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from propagation.model.base import value
from propagation.model.clients.filter_memory import FilterMemory

LINE_MAX_WORDS = 25
WEIGHT_KEPT = 0.95
"""Factor by which a confirmation decays a line's weight before adding 1."""
NO_RULES = FilterMemory()
MERGED_OUTCOME = "merged"


class Author(StrEnum):
    """Kind of step that wrote a line."""

    CATALOGUE = "catalogue"
    INTERACTION = "interaction"
    RECEPTION = "reception"


READING = {
    author: place
    for place, author in enumerate((Author.CATALOGUE, Author.INTERACTION, Author.RECEPTION))
}


@value
class Source:
    """An interaction or a message that a line rests on.

    Attributes:
        sequence: The interaction.
        router: The router that sent the message.
        version: The message's version.
    """

    sequence: int | None = None
    router: int | None = None
    version: int | None = None

    @property
    def message(self) -> tuple[int, int] | None:
        """The message as (router, version); None for an interaction."""
        if self.router is None or self.version is None:
            return None
        return self.router, self.version


@value
class Line:
    """One statement of a profile.

    Attributes:
        text: At most 25 words.
        weight: Above 0. A full profile drops the line of least weight; among equals, the oldest.
    """

    id: int
    text: str
    attributes: tuple[str, ...] = ()
    weight: float = 1.0
    sources: tuple[Source, ...] = ()
    author: Author = Author.INTERACTION

    @property
    def messages(self) -> list[tuple[int, int]]:
        """The messages that the line rests on, as (router, version)."""
        return [source.message for source in self.sources if source.message is not None]

    def with_changes(
        self, *, id: int | None = None, text: str | None = None, weight: float | None = None
    ) -> "Line":
        """Return this line with another id, text or weight."""
        return Line(
            id=self.id if id is None else id,
            text=self.text if text is None else text,
            attributes=self.attributes,
            weight=self.weight if weight is None else weight,
            sources=self.sources,
            author=self.author,
        )


@value
class AddLine:
    """Edit: add a line.

    The line gets its id when the edit is applied.
    """

    line: Line


@value
class ReplaceLine:
    """Edit: replace the line of this id.

    If that line is gone, the edit is redone on the newest version.
    """

    line: Line


@value
class DropLine:
    """Edit: drop the line of this id."""

    id: int


Edit = AddLine | ReplaceLine | DropLine


class EditClash(Exception):
    """An edit names a line that the profile no longer has."""

    def __init__(self, line_id: int) -> None:
        super().__init__(f"line {line_id} is gone")


@value
class Profile:
    """The lines of a client at one version.

    Attributes:
        next_id: Id of the next new line; ids are never used twice.
    """

    ref: int
    version: int = 0
    lines: tuple[Line, ...] = ()
    next_id: int = 1

    @property
    def attributes(self) -> frozenset[str]:
        """All attributes of the lines."""
        return frozenset(name for line in self.lines for name in line.attributes)

    def apply_edits(self, edits: Sequence[Edit], max_lines: int) -> "Profile":
        """Return the next version, with all edits applied.

        Its lines are in reading order: first from the catalogue, then from interactions, then from
        messages; within each, the largest weight first. Without edits the lines stay as they are.

        Args:
            max_lines: How many lines are kept at most; the lines of least weight are dropped.

        Raises:
            EditClash: An edit names a line that the profile no longer has.
        """
        if not edits:
            return Profile(self.ref, self.version + 1, self.lines, self.next_id)
        lines = {line.id: line for line in self.lines}
        next_id = self.next_id
        for edit in edits:
            match edit:
                case AddLine(line=line):
                    lines[next_id] = line.with_changes(id=next_id)
                    next_id += 1
                case ReplaceLine(line=line):
                    if line.id not in lines:
                        raise EditClash(line.id)
                    lines[line.id] = line
                case DropLine(id=gone):
                    if lines.pop(gone, None) is None:
                        raise EditClash(gone)
        while len(lines) > max_lines:
            del lines[min(lines.values(), key=lambda line: (line.weight, line.id)).id]
        ordered = sorted(
            lines.values(), key=lambda line: (READING[line.author], -line.weight, line.id)
        )
        return Profile(
            ref=self.ref, version=self.version + 1, lines=tuple(ordered), next_id=next_id
        )


@value
class ClientText:
    """Profile and filter memory of a client at one version.

    Attributes:
        watermark: Last round whose messages were merged or fell out of the buffer.
        dropped: How many messages fell out of the buffer so far.
    """

    profile: Profile
    filter_memory: FilterMemory = NO_RULES
    watermark: int = 0
    dropped: int = 0

    @classmethod
    def empty(cls, ref: int) -> "ClientText":
        """Return the empty text, at version 0, of a client without one."""
        return cls(profile=Profile(ref=ref))

    def with_rules_since(self, bootstrap: int) -> "ClientText":
        """Leave out the filter rules that no longer count, as FilterMemory.since does.

        Returns:
            The text; the same object if nothing is left out.
        """
        memory = self.filter_memory.since(bootstrap)
        return self if memory is self.filter_memory else replace(self, filter_memory=memory)


@value
class DatedText:
    """A stored version of a client's text, with its place and time.

    Attributes:
        sequence: The sequence that the version belongs to.
        time: When it was stored, in milliseconds since 1970.
        written_by: For a version outside an interaction, what wrote it; "" if that is not kept.
    """

    text: ClientText
    sequence: int
    time: int
    written_by: str = ""


@value
class MessageMerge:
    """One message that reception merged into a profile version, or dropped.

    Attributes:
        outcome: "merged", or why the message was dropped.
    """

    ref: int
    profile_version: int
    router: int
    router_version: int
    outcome: str


@value
class NumberedMerge:
    """A merge with its place in the order of commits.

    Attributes:
        number: The place, from 1.
        sequence: Sequence that the merged text belongs to.
    """

    number: int
    sequence: int
    merge: MessageMerge


@value
class NumberedText:
    """A new version of a client's text.

    Attributes:
        number: The version's place among all versions, in the order of commits.
    """

    number: int
    ref: int
    version: int
