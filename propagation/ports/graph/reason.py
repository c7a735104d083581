"""The reason commit: all text of an interaction, written by any number of workers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText, MessageMerge
from propagation.model.clients.gradient import Gradient, Module
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.reasoning import DeadLetter, ReasonClaim, ReasonedInteraction
from propagation.model.routers.round import Round
from propagation.model.routers.router import MessageReach, RouterVersion
from propagation.model.watch_events import NumberedMerge, NumberedText


class InteractionReader(Protocol):
    """See GraphStore, of which this is a part."""

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]: ...

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]: ...

    async def text_versions(self, refs: Sequence[int]) -> Mapping[int, int]: ...

    async def last_round(self) -> Round | None: ...

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]: ...


class ReasonStore(Protocol):
    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """The oldest learned interactions that nobody finished or holds, so that one user's are
        never held by two workers and none overtakes an earlier one of its user; None when there are
        none."""

    async def renew_claims(self, tokens: Sequence[int], ttl_ms: int) -> None:
        """Of these claims, those that nobody took over are held for so long from now on."""

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        """All of it in one commit: texts as new versions, gradients, merges, dead letters.
        Interactions of the claim that are not among `reasoned` are free again, or with `more` still
        held, to be committed later. Raises LeaseLost when the claim expired and was taken over,
        VersionClash when a text's version is not the successor of the stored one; nothing is
        changed then."""

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """The oldest dead letters that nobody holds, to be tried again; committed like any claim,
        with `late` set: what succeeds is a dead letter no more, what fails stays one with its
        newest reason. None when there are none."""

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        taken_back: int | None = None,
        written_by: str = "",
    ) -> None:
        """New versions outside an interaction: cold start, and reading with MERGED. `taken_back`:
        what `last_withdrawal` said before anything was read that these rest on. `written_by` is
        kept with each of them (as in RouterVersion). Raises VersionClash, also where something was
        taken back since then: by a claim that is what voiding it does."""

    async def last_withdrawal(self) -> int:
        """The sequence of the newest retraction or erasure; 0 before the first."""

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        """The current text of each client; an empty profile at version 0 for those without."""

    async def text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        """The version of the current text of every client (or of these) that has one: what an index
        or a cache is compared with."""

    async def text_at(self, ref: int, sequence: int) -> ClientText | None:
        """The text as it was at a sequence; None where it had none."""

    async def texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        """Texts by (ref, version); those that never were, or that retention dropped, are left out."""

    async def texts_through(self) -> int:
        """The number of the last text that was committed, kept or not."""

    async def texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        """At most `limit` versions of texts of a larger number, in order: how a process follows
        what others write. Numbers grow with each commit, and become visible in that order; those of
        versions that were dropped are left out."""

    async def reasoned_through(self) -> int:
        """All interactions at or below it are reasoned or dead letters."""

    async def interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        """Interactions by sequence, in its order; those that are gone are left out."""

    async def find_event(self, event_id: str) -> InteractionRow | None: ...

    async def merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        """Who merged or dropped this message, by ref."""

    async def message_reach(self, newest: int) -> Sequence[MessageReach]:
        """How far each router's messages went, by router: of the last `newest` (> 0) merges by
        number, as far as retention keeps them."""

    async def merges_through(self) -> int:
        """How many merges were ever committed: the number of the last one, kept or not."""

    async def merges_after(self, number: int, through: int, limit: int) -> Sequence[NumberedMerge]:
        """At most `limit` merges with number < their own <= through, in order. Numbers are given in
        the order of commits, from 1, one after another and never twice, and become visible in that
        order: a hole is a merge that was dropped."""

    async def gradients(
        self, module: Module, owner: int | None, after: int, limit: int
    ) -> Sequence[Gradient]:
        """Gradients of one kind of module with sequence > after, by (sequence, owner); of one
        owner, or of all (None)."""

    async def dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        """(sequence, reason) of interactions whose reasoning failed for good, oldest first."""
