"""The reason commit: all texts of an interaction.

Any number of workers may commit.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model import (
    Client,
    ClientText,
    DatedText,
    DeadLetter,
    FailedReasoning,
    Gradient,
    InteractionRow,
    MessageFate,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    NumberedText,
    ReasonClaim,
    ReasonedInteraction,
    ReasoningBacklog,
    Round,
    RouterVersion,
)


class InteractionReader(Protocol):
    """Reads clients, texts and rounds for reasoning.

    This is all that a process needs of the store if it only drafts texts.
    """

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        """Return clients in the order of `refs`; unknown ones are left out."""

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        """Return the current text of each client.

        A client without a text has an empty profile at version 0.
        """

    async def get_text_versions(self, refs: Sequence[int]) -> Mapping[int, int]:
        """Return the version of each client's current text.

        Clients without a text are left out.
        """

    async def get_interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        """Return interactions in the order of `sequences`; unknown ones are left out."""

    async def get_last_round(self) -> Round | None:
        """Return the newest published round; None before the first."""
        newest = await self.get_last_rounds(1)
        return newest[0] if newest else None

    async def get_last_rounds(self, limit: int) -> Sequence[Round]:
        """Return at most `limit` of the newest published rounds, the newest last."""

    async def get_bootstrap_sequence(self, at: int | None = None) -> int:
        """Return the sequence of the newest bootstrap; 0 before the first.

        Rules about routers that were confirmed before it do not count (FilterMemory.since).

        Args:
            at: The newest bootstrap at this sequence; None means now.
        """

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        """Return the messages that wait for each client, newest round first.

        There is at most one message of each router.

        A message waits for a client if it is newer than the client's watermark and its router's
        edge covered the client when it was sent, or if it was its router's current message when
        the client's first edge opened. Only the newest such message of a router waits. A message
        that comes from the client alone does not count (RecNet 2.3.1). `integrated` is shortened
        as in `get_router_versions`.

        Args:
            refs_after: Watermark (a round's number) of each client, by ref.
            through: Last round to look at; None: the newest. A caller that then stores a watermark
                must give that round.
        """


class ReasonStore(InteractionReader, Protocol):
    """Texts of clients, and the records of reasoning.

    These records are its claims, merges, gradients and dead letters.
    """

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """Claim the oldest learned interactions that are neither reasoned nor claimed.

        Two workers never hold interactions of one user, and no interaction overtakes an earlier one
        of its user (graph_rules/claims).

        Args:
            worker: Name of the process.
            limit: How many interactions at most.
            ttl_ms: Milliseconds from now until the claim expires.

        Returns:
            The claim; None if there is nothing to claim.
        """

    async def renew_claims(self, tokens: Sequence[int], ttl_ms: int) -> None:
        """Let these claims expire `ttl_ms` milliseconds from now.

        Claims that no longer exist are skipped.
        """

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        """Commit the results of a claim's interactions at once.

        The results are texts as new versions, gradients, merges and dead letters.

        Args:
            reasoned: Interactions of the claim.
            more: Keep the claim's other interactions for a later commit; otherwise free them.

        Raises:
            LeaseLost: The claim expired and was taken over; nothing was changed.
            VersionClash: A text's version does not follow the stored one; nothing was changed.
        """

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """Claim the oldest free queued dead letters, to try them again.

        A dead letter is free if no worker holds it, nor an earlier queued one of its user.

        Commit the results like those of any claim, with `late` set. An interaction that succeeds is
        no longer a dead letter. One that fails again gets the newest reason and exchange, counts
        all attempts, and is queued no more.

        Returns:
            The claim; None if there is nothing to claim.
        """

    async def queue_dead_letters(self, sequences: Sequence[int] | None) -> int:
        """Queue dead letters, to be tried again.

        Args:
            sequences: Dead letters; None: all. Sequences of other interactions are skipped.

        Returns:
            How many of them are queued now, earlier ones included.
        """

    async def has_queued_dead_letters(self) -> bool:
        """Tell whether a dead letter waits to be tried again."""

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        """Commit new versions of texts outside an interaction.

        Cold start uses it, and so do reads that merge messages.

        Args:
            merged: Messages that were merged into the texts or dropped.
            sequence: The sequence that the versions belong to.
            after_withdrawal: Result of `get_last_withdrawal` before the texts were read; None: do
                not check it.
            written_by: Prompts or fallback that wrote the texts, as in RouterVersion, or
                "catalogue" where the catalogue's lines stand in for a model's.

        Raises:
            VersionClash: A text's version does not follow the stored one, or there was another
                withdrawal after `after_withdrawal`. (`commit_reasoned` needs no such check,
                because a withdrawal voids claims.)
        """

    async def get_last_withdrawal(self) -> int:
        """Return the sequence of the newest retraction or erasure.

        It is 0 before the first.
        """

    async def get_text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        """Return the version of each client's current text.

        Callers compare an index or a cache with the result.

        Args:
            refs: Clients; None: all. Clients without a text are left out.
        """

    async def get_text_at(self, ref: int, sequence: int) -> ClientText | None:
        """Return a client's text at a sequence.

        Returns:
            The text; None if the client had none.
        """

    async def get_texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        """Return texts by (ref, version); unknown and dropped versions are left out."""

    async def get_text_history(
        self, ref: int, limit: int, before: int | None = None
    ) -> Sequence[DatedText]:
        """Return at most `limit` stored versions of a client's text, newest first.

        Args:
            before: Only versions with a smaller number.
        """

    async def get_merges_into(self, ref: int, versions: Sequence[int]) -> Sequence[MessageMerge]:
        """Return the merges and drops that wrote versions of a client's text.

        They are ordered by version, then router.
        """

    async def get_texts_through(self) -> int:
        """Return the number of the last committed text version.

        The version itself may have been dropped since.
        """

    async def get_texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        """Return at most `limit` text versions with a larger number, in order.

        A process follows other processes' texts this way: numbers grow with each commit, and become
        visible in this order. Dropped versions are left out.
        """

    async def get_reasoned_through(self) -> int:
        """Return the sequence through which reasoning is complete.

        Every interaction up to it is reasoned or a dead letter.
        """

    async def count_backlog(self) -> ReasoningBacklog:
        """Count the interactions that wait, and those done out of order.

        Those that are recorded and not learned wait, too.
        """

    async def get_merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        """Return at most `limit` merges or drops of a message.

        There is one for each client, by ref.
        """

    async def get_message_fates(
        self, router: int, versions: Sequence[int], clients: int
    ) -> Mapping[int, MessageFate]:
        """Count what became of a router's messages, by version.

        A message that nobody received may be left out. Merges that retention dropped do not count.

        Args:
            clients: How many of the clients that merged a message are listed at most.
        """

    async def count_message_reach(self, newest: int) -> Sequence[MessageReach]:
        """Count what became of each router's messages, by router.

        Args:
            newest: Count only the last merges, this many (at least 1). Merges that retention
                dropped are among this number, but are not counted.
        """

    async def get_merges_through(self) -> int:
        """Return the number of the last committed merge.

        The merge itself may have been dropped since.
        """

    async def get_merges_after(
        self, number: int, through: int, limit: int
    ) -> Sequence[NumberedMerge]:
        """Return at most `limit` merges after a number, in order.

        Merges are numbered from 1 in the order of commits, without gaps, and become visible in this
        order: a missing number is a dropped merge.

        Args:
            number: The numbers of the merges are greater than this one.
            through: The numbers of the merges are at most this one.
            limit: How many merges at most.
        """

    async def get_gradients(
        self, module: Module, owner: int | None, after: int, limit: int
    ) -> Sequence[Gradient]:
        """Return at most `limit` gradients with sequence > after.

        They are ordered by sequence, then owner, then text.

        Args:
            module: Kind of module.
            owner: A client's ref or router's number; None: all of this kind.
        """

    async def get_dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        """Return at most `limit` interactions whose reasoning failed for good, oldest first."""

    async def get_failed_reasoning(
        self, limit: int, before: int | None = None
    ) -> Sequence[FailedReasoning]:
        """Return at most `limit` dead letters with their attempts, newest first.

        A retraction or an erasure drops the exchanges of all dead letters: a question may quote any
        client's text.

        Args:
            before: Only dead letters with a smaller sequence.
        """
