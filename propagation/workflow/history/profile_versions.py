"""The versions of a client's text, their changes and causes.

A version does not name its cause. It follows from the messages that it merged, from its lines
beside those of the version before, and from the log's entry at its sequence.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from propagation.model import (
    Author,
    DatedText,
    EntryKind,
    Line,
    MessageMerge,
    Profile,
    group_pairs,
)
from propagation.ports import GraphStore

VERSIONS_A_READ = 500
ENTRIES_A_READ = 1_000


class ChangeCause(StrEnum):
    """What made a version.

    UNKNOWN: the version before it is not kept, and no message was merged.
    """

    UNKNOWN = "unknown"
    CATALOGUE = "catalogue"
    INTERACTION = "interaction"
    RECEPTION = "reception"
    RETRACTION = "retraction"
    ERASURE = "erasure"
    EVOLUTION = "evolution"


BY_ENTRY = {
    EntryKind.RETRACTION: ChangeCause.RETRACTION,
    EntryKind.ERASURE: ChangeCause.ERASURE,
    EntryKind.EVOLUTION: ChangeCause.EVOLUTION,
}
BY_AUTHOR = {
    Author.CATALOGUE: ChangeCause.CATALOGUE,
    Author.INTERACTION: ChangeCause.INTERACTION,
    Author.RECEPTION: ChangeCause.RECEPTION,
}


@dataclass(frozen=True)
class LineChanges:
    """The lines by which two versions differ, by id.

    Attributes:
        added: Lines that are new.
        removed: Lines that are gone.
        changed: Lines with other words or attributes.
        backed: Lines that rest on a source that they did not rest on before.
    """

    added: tuple[int, ...]
    removed: tuple[int, ...]
    changed: tuple[int, ...]
    backed: tuple[int, ...]


@dataclass(frozen=True)
class ProfileChange:
    """A version of a client's text, and how it came about.

    Attributes:
        lines: None if the version before is not kept.
        messages: The messages that it merged or dropped.
    """

    dated: DatedText
    lines: LineChanges | None
    messages: Sequence[MessageMerge]
    cause: ChangeCause

    @property
    def version(self) -> int:
        """The version's number."""
        return self.dated.text.profile.version

    def count_catalogue_lines(self) -> int:
        """Count the lines of the version that the catalogue wrote."""
        return len(_list_catalogue_lines(self.dated))


@dataclass(frozen=True)
class ProfileChangePage:
    """One page of versions.

    Attributes:
        more: Whether older versions follow.
    """

    changes: Sequence[ProfileChange]
    more: bool


def compare_lines(before: Sequence[Line], after: Sequence[Line]) -> LineChanges:
    """Compare the lines of two versions, which keep their ids."""
    old, new = {line.id: line for line in before}, {line.id: line for line in after}
    kept = [(old[id_], line) for id_, line in new.items() if id_ in old]
    return LineChanges(
        added=tuple(id_ for id_ in new if id_ not in old),
        removed=tuple(id_ for id_ in old if id_ not in new),
        changed=tuple(
            line.id
            for was, line in kept
            if (was.text, was.attributes) != (line.text, line.attributes)
        ),
        backed=tuple(line.id for was, line in kept if not set(line.sources) <= set(was.sources)),
    )


def find_cause(
    before: Profile, after: Profile, changes: LineChanges, entry: EntryKind | None
) -> ChangeCause:
    """Find what made a version that merged no message.

    A withdrawal or an evolution only takes away: a version with a new line, or a line with a new
    source, has another cause, even if it has the sequence of one. (Texts that are written outside
    of an interaction have the sequence of the newest entry.)

    Args:
        entry: The kind of the log's entry at the version's sequence; None: an interaction, or none.
    """
    authors = {line.id: line.author for line in after.lines}
    gained = [authors[id_] for id_ in (*changes.added, *changes.backed)]
    if Author.CATALOGUE in gained:
        return ChangeCause.CATALOGUE
    if gained:
        return BY_AUTHOR[gained[0]]
    if entry in BY_ENTRY:
        return BY_ENTRY[entry]
    were = {line.id: line.author for line in before.lines}
    lost = {were[id_] for id_ in changes.removed}
    return ChangeCause.CATALOGUE if lost == {Author.CATALOGUE} else ChangeCause.INTERACTION


async def list_profile_changes(
    store: GraphStore, ref: int, before: int | None, size: int
) -> ProfileChangePage:
    """List the versions of a client's text, newest first.

    Args:
        before: Only versions with a smaller number; None: from the newest on.
        size: How many versions at most.
    """
    dated = await store.get_text_history(ref, size + 1, before)
    shown = dated[:size]
    merges = group_pairs(
        (merge.profile_version, merge)
        for merge in await store.get_merges_into(ref, [one.text.profile.version for one in shown])
    )
    steps = [
        _compare_versions(
            one,
            dated[place + 1] if place + 1 < len(dated) else None,
            merges.get(one.text.profile.version, ()),
        )
        for place, one in enumerate(shown)
    ]
    kinds = await _read_kinds(store, {step.after.sequence for step in steps if step.needs_entry})
    return ProfileChangePage(
        [step.describe(kinds.get(step.after.sequence)) for step in steps],
        more=len(dated) > size,
    )


async def list_catalogue_changes(
    store: GraphStore, ref: int, start: int, size: int
) -> ProfileChangePage:
    """List the versions that the catalogue wrote, with its lines alone.

    The newest comes first.

    A version counts if a line of the catalogue is new in it: an interaction may also push one out
    of a full profile, and whoever may not see interactions is not to learn of that.

    Args:
        start: How many of these versions to leave out.
        size: How many versions at most.
    """
    found: list[ProfileChange] = []
    later: DatedText | None = None
    before: int | None = None
    while len(found) <= start + size:
        dated = await store.get_text_history(ref, VERSIONS_A_READ, before)
        rows = [*dated, None] if len(dated) < VERSIONS_A_READ else list(dated)
        for one in rows:
            if later is not None and (change := _compare_catalogue(later, one)) is not None:
                found.append(change)
            later = one
        if len(dated) < VERSIONS_A_READ:
            break
        before = dated[-1].text.profile.version
    return ProfileChangePage(found[start : start + size], more=len(found) > start + size)


def _compare_catalogue(after: DatedText, before: DatedText | None) -> ProfileChange | None:
    """Return the change of the catalogue's lines, if it wrote the version."""
    if not _follows(after, before):
        return None
    old = [] if before is None else _list_catalogue_lines(before)
    lines = compare_lines(old, _list_catalogue_lines(after))
    if not lines.added:
        return None
    return ProfileChange(after, lines, (), ChangeCause.CATALOGUE)


def _list_catalogue_lines(dated: DatedText) -> list[Line]:
    return [line for line in dated.text.profile.lines if line.author is Author.CATALOGUE]


def _follows(after: DatedText, before: DatedText | None) -> bool:
    """Tell whether no version lies between two; None stands for version 0."""
    version = 0 if before is None else before.text.profile.version
    return after.text.profile.version == version + 1


@dataclass(frozen=True)
class _VersionStep:
    """A version beside the one before it.

    Attributes:
        before: The profile before.
        lines: None if the version before is not kept.
    """

    after: DatedText
    before: Profile
    lines: LineChanges | None
    messages: Sequence[MessageMerge]

    @property
    def needs_entry(self) -> bool:
        """Whether the cause depends on the log's entry."""
        lines = self.lines
        return not (lines is None or self.messages or lines.added or lines.backed)

    def describe(self, entry: EntryKind | None) -> ProfileChange:
        """Return the version with its cause.

        Args:
            entry: The kind of the log's entry at the version's sequence, if it counts.
        """
        if self.messages:
            cause = ChangeCause.RECEPTION
        elif self.lines is None:
            cause = ChangeCause.UNKNOWN
        else:
            cause = find_cause(self.before, self.after.text.profile, self.lines, entry)
        return ProfileChange(self.after, self.lines, self.messages, cause)


def _compare_versions(
    after: DatedText, before: DatedText | None, messages: Sequence[MessageMerge]
) -> _VersionStep:
    profile = Profile(after.text.profile.ref) if before is None else before.text.profile
    lines = None
    if _follows(after, before):
        lines = compare_lines(profile.lines, after.text.profile.lines)
    return _VersionStep(after, profile, lines, messages)


async def _read_kinds(store: GraphStore, sequences: Collection[int]) -> dict[int, EntryKind]:
    """Read which sequences are entries that take events away.

    The entries between the least and the greatest sequence are read, newest first.
    """
    kinds: dict[int, EntryKind] = {}
    before, least = max(sequences, default=0) + 1, min(sequences, default=1)
    while before > least:
        entries = await store.get_entries_before(before, [*BY_ENTRY], ENTRIES_A_READ)
        kinds |= {entry.sequence: entry.kind for entry in entries if entry.sequence in sequences}
        if len(entries) < ENTRIES_A_READ:
            break
        before = entries[-1].sequence
    return kinds
