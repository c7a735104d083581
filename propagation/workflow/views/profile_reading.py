"""What a read of a profile returns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from propagation.model import Author, Client, ClientText, RouterVersion


@dataclass(frozen=True)
class ProfileReading:
    """A client with its text.

    Attributes:
        waiting: Messages in its buffer, newest first.
    """

    client: Client
    text: ClientText
    waiting: Sequence[RouterVersion] = ()

    def without_messages(self) -> "ProfileReading":
        """Leave out what came by propagation: reception's lines, and waiting messages."""
        profile = self.text.profile
        own = tuple(line for line in profile.lines if line.author != Author.RECEPTION)
        text = replace(self.text, profile=replace(profile, lines=own))
        return replace(self, text=text, waiting=())
