"""Withdrawing interactions, erasing and exporting clients, and dropping old rows."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from propagation.model.clients.client_text import MessageMerge
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.learned_block import StagedCheckpoint
from propagation.model.interactions.withdrawal import (
    AffectedMessage,
    CitationSearch,
    EventState,
    LearnedWeights,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
)
from propagation.ports.graph.leases import Lease


class ErasureStore(Protocol):
    async def event_statuses(self, event_ids: Sequence[str]) -> Sequence[EventState]:
        """How each event id stands, with the interaction where it is recorded."""

    async def interactions_of_clients(self, refs: Sequence[int]) -> Sequence[InteractionRow]:
        """Every interaction of these clients, as user or positive item, in sequence order."""

    async def user_choices(self, users: Sequence[int]) -> UserChoices:
        """What these users (refs) chose."""

    async def learned_weights(self, sequences: Sequence[int]) -> LearnedWeights:
        """What these interactions wrote, those that are learned."""

    async def find_citing_texts(self, trails: Sequence[CitationSearch]) -> Sequence[StoredText]:
        """The versions that the trails lead through, each once, by ref, then version: at least
        those that cite one of the sequences, or one of the messages and hold one of its attributes,
        or hold one of the words (as it is written; where they cite one of the messages, in letters
        of either case). Others may be among them."""

    async def names_used_by_others(self, ref: int, names: frozenset[str]) -> frozenset[str]:
        """Those of these normalised names that some other client's own text (title, description,
        attributes, categories) holds."""

    async def clients_naming(self, words: frozenset[str]) -> frozenset[int]:
        """Clients with a stored version of their text that holds one of the words. Looks at every
        version."""

    async def affected_messages(
        self,
        refs: Sequence[int],
        sequences: frozenset[int] | None,
        words: frozenset[str],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        """Published messages that carry a part of one of these clients (of these interactions only,
        unless None), and those whose name, text or attributes hold one of the words, or (where
        there are words) whose text was taken back before and may have held one; by router, then
        version. Of the parts that stay, those of the attributes that lose one are counted, up to
        `limit` clients each."""

    async def merges_of_messages(
        self, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        """Who merged these messages, and into which version."""

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        """Everything in one publication, with its log entry (RETRACTION or ERASURE, `number` the
        barrier's sequence) and the barrier, which was staged under this lease: whatever names an
        erased client is gone, its refs never come back, its event ids are kept as keyed hashes
        only. Claims that are held and a round that is being staged are void. Older checkpoints are
        dropped. Raises LeaseLost, VersionClash (a text has another version meanwhile, or one that
        was committed since `texts_read_through` rests on what goes): nothing is changed then, but that past
        versions of texts may cite it no longer."""

    async def wipe(self) -> None:
        """Nothing that names clients that were forgotten, or that they said, is left in the
        database's files, nor in a write-ahead log. Of numbers without names, which checkpoints are,
        an adapter may leave dropped ones in free space of a large file until others take it
        (docs/erasure.md). Who is forgotten meanwhile stays due."""

    async def wiping_due(self) -> bool:
        """Whether a client was forgotten and `wipe` did not finish since. Of a retraction nothing
        has to be wiped."""


class ExportRecord(NamedTuple):
    """One record of a client: its kind, and its fields as JSON values."""

    kind: str
    fields: Mapping[str, object]


class ExportStore(Protocol):
    def export_client(self, ref: int) -> AsyncIterator[ExportRecord]:
        """What kind of record, and the record as JSON values; clients by id, in kinds' order.
        Kinds: client, client_before, event, retracted_event, written, reasoned, dead_letter,
        profile_version, gradient, merge, brought, held_attributes, edge, point."""


class RetentionStore(Protocol):
    async def prune(self, before: int, limit: int) -> int | None:
        """One small step of a run: look at something, or drop at most `limit` rows (of 1, two) of
        versions, edges, messages, merges and gradients whose life ended before a sequence; how many
        were dropped, None when nothing is left to drop. One step at a time. Never dropped: a
        client's current version, a router's current version, what a line cited at `before` or
        since, a client's first edge, interactions with their weights. `oldest_kept` moves to
        `before` with the first call."""

    async def oldest_kept(self) -> int:
        """The sequence from which on time travel answers; 0 while nothing was dropped."""
