"""Draft of an interaction: the texts that it reads and the texts that it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from propagation.model import (
    NO_USAGE,
    AddLine,
    Author,
    Client,
    ClientText,
    DropLine,
    Edit,
    MessageMerge,
    ReasonedInteraction,
    RouterVersion,
    Usage,
)
from propagation.ports import AnswerPart, MergeAnswer, OptimizeAnswer, Party
from propagation.reception.merge import Inbox


@dataclass
class WorkingSet:
    """Clients, their texts and their waiting messages, as interactions read them.

    It moves on with each interaction that succeeds.
    """

    clients: Mapping[int, Client]
    texts: dict[int, ClientText]
    waiting: dict[int, Sequence[RouterVersion]]
    last_round: int

    def move_on(self, texts: Mapping[int, ClientText]) -> None:
        """Take in the texts after an interaction.

        Nothing waits for these clients any more.
        """
        self.texts.update(texts)
        for ref in texts:
            self.waiting.pop(ref, None)


@dataclass
class Draft:
    """The texts of one interaction, and the answers they came from.

    The answers are kept so that they can be applied to newer texts (rebase.py).

    Attributes:
        now: Newest text by client.
        written: All new versions, in order.
        merged: What became of messages.
        parties: The clients after reception.
        first_edits: Answers for first profiles, by client.
        inboxes: The inboxes that were merged.
        merges: Answers for them, in order.
        optimizations: Answers of the optimisation, in the parties' order.
    """

    now: dict[int, ClientText]
    written: list[ClientText] = field(default_factory=list)
    merged: list[MessageMerge] = field(default_factory=list)
    parties: list[Party] = field(default_factory=list)
    usage: Usage = NO_USAGE
    first_edits: dict[int, Sequence[Edit]] = field(default_factory=dict)
    inboxes: list[Inbox] = field(default_factory=list)
    merges: Sequence[AnswerPart[MergeAnswer]] = ()
    optimizations: Sequence[AnswerPart[OptimizeAnswer]] = ()

    def add(self, ref: int, text: ClientText) -> None:
        """Add a client's next version; the same object is no new version."""
        if text is not self.now[ref]:
            self.now[ref] = text
            self.written.append(text)


@dataclass(frozen=True)
class DraftedInteraction:
    """An interaction as it is to be committed, and its draft.

    A dead letter has no draft.
    """

    reasoned: ReasonedInteraction
    draft: Draft | None = None


def describe_client(text: ClientText, edits: Sequence[Edit], max_lines: int) -> ClientText:
    """Replace a profile's catalogue lines by these.

    Returns:
        The same object if they are the same.
    """
    old = [line for line in text.profile.lines if line.author == Author.CATALOGUE]
    new = [edit.line for edit in edits if isinstance(edit, AddLine)]
    if [(line.text, line.attributes) for line in old] == [
        (line.text, line.attributes) for line in new
    ]:
        return text
    changes: list[Edit] = [DropLine(id=line.id) for line in old]
    changes += [AddLine(line=line) for line in new]
    return replace(text, profile=text.profile.apply_edits(changes, max_lines))
