"""A profile: a bounded list of lines, each with its provenance (RecNet 2.1; DESIGN, vocabulary)."""

from collections.abc import Sequence
from enum import StrEnum

from propagation.model.base import value

LINE_MAX_WORDS = 25


class Author(StrEnum):
    """Who wrote a line."""

    CATALOGUE = "catalogue"
    INTERACTION = "interaction"
    RECEPTION = "reception"


READING = {
    author: place
    for place, author in enumerate((Author.CATALOGUE, Author.INTERACTION, Author.RECEPTION))
}


@value
class Source:
    """What a line rests on: an interaction (its sequence) or a message (router and version)."""

    sequence: int | None = None
    router: int | None = None
    version: int | None = None


@value
class Line:
    """One statement. `weight` > 0 ranks lines for eviction: least weight goes first, then the
    oldest."""

    id: int
    text: str
    attributes: tuple[str, ...] = ()
    weight: float = 1.0
    sources: tuple[Source, ...] = ()
    author: Author = Author.INTERACTION

    def changed(self, *, id: int | None = None, weight: float | None = None) -> "Line":
        """This line under another id or of another weight."""
        return Line(
            id=self.id if id is None else id,
            text=self.text,
            attributes=self.attributes,
            weight=self.weight if weight is None else weight,
            sources=self.sources,
            author=self.author,
        )


@value
class AddLine:
    """An edit: a new line (its id is given when the edit is applied)."""

    line: Line


@value
class ReplaceLine:
    """An edit: the line of this id now reads so. Redone on the new version if that line is gone."""

    line: Line


@value
class DropLine:
    """An edit: the line of this id leaves."""

    id: int


Edit = AddLine | ReplaceLine | DropLine


class EditClash(Exception):
    """An edit names a line that the profile no longer has."""

    def __init__(self, line_id: int) -> None:
        super().__init__(f"line {line_id} is gone")
        self.line_id = line_id


@value
class Profile:
    """A client's (or router's) text at one version. Ids of lines are never used twice: `next_id`
    only grows."""

    ref: int
    version: int = 0
    lines: tuple[Line, ...] = ()
    next_id: int = 1

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset(name for line in self.lines for name in line.attributes)

    def apply_edits(self, edits: Sequence[Edit], max_lines: int) -> "Profile":
        """The next version: all edits applied, then bounded to `max_lines`, in reading order: what
        the catalogue says, what interactions showed, what was heard; the weightiest first. Raises
        EditClash."""
        if not edits:
            return self
        lines = {line.id: line for line in self.lines}
        next_id = self.next_id
        for edit in edits:
            match edit:
                case AddLine(line=line):
                    lines[next_id] = line.changed(id=next_id)
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
