"""Withdrawing interactions, erasing and exporting clients, and dropping old rows."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from propagation.model import (
    AffectedMessage,
    CitationSearch,
    EventState,
    InteractionRow,
    LearnedWeights,
    MessageMerge,
    StagedCheckpoint,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
)
from propagation.ports.graph.leases import Lease


class ErasureStore(Protocol):
    """Withdrawal of interactions, and erasure of clients (docs/erasure.md)."""

    async def get_event_states(self, event_ids: Sequence[str]) -> Sequence[EventState]:
        """Return the state of each event id, in order."""

    async def get_interactions_of_clients(self, refs: Sequence[int]) -> Sequence[InteractionRow]:
        """Return every interaction of these clients, by sequence.

        A client takes part as the user or as the positive item.
        """

    async def get_user_choices(self, users: Sequence[int]) -> UserChoices:
        """Return every choice of these users (refs), by user, then sequence."""

    async def get_learned_weights(self, sequences: Sequence[int]) -> LearnedWeights:
        """Return what interactions wrote when they were learned; others are left out."""

    async def find_citing_texts(self, searches: Sequence[CitationSearch]) -> Sequence[StoredText]:
        """Find stored versions of texts that cite what a search names.

        A version matches if it cites one of the sequences; if a line that cites one of the
        messages has one of its attributes, or holds one of the words for messages; if a rule holds
        one of the words for rules, or of those for rules on its router; or if it holds one of the
        other words.
        Others may be returned too.

        Returns:
            Each version once, by ref, then version.
        """

    async def find_names_used_by_others(self, ref: int, names: frozenset[str]) -> frozenset[str]:
        """Return those names that another client's own text holds.

        Args:
            ref: The client whose own text does not count.
            names: Normalized attribute names. An own text is title, description, attributes and
                categories.
        """

    async def find_clients_naming(self, words: frozenset[str]) -> frozenset[int]:
        """Find clients with a stored text that holds one of the words.

        Reads every version of every client.

        Returns:
            Their refs.
        """

    async def get_brought_attributes(self, refs: Sequence[int]) -> frozenset[str]:
        """Return the attributes that these clients brought to messages."""

    async def find_affected_messages(
        self,
        refs: Sequence[int],
        sequences: frozenset[int],
        erased: int | None,
        words: frozenset[str],
        titles: frozenset[str],
        names: frozenset[str],
        origins: Mapping[int, frozenset[int]],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        """Find published messages that a withdrawal affects.

        These messages rest on the withdrawal, or may stand for less after it, or may name an
        erased client; graph_rules/withdrawal_order chooses them.

        Args:
            refs: Clients whose message parts of these `sequences` go.
            sequences: The interactions that are withdrawn.
            erased: The one of `refs` whose parts all go; None for a retraction.
            words: Also find messages with one of these words in name, text or attributes, and
                messages whose text was withdrawn before (they may have held one).
            titles: Also find messages with one of these in their text.
            names: Also find messages that bring one of these attributes, or whose router stands
                for it.
            origins: By router, those that it evolved from.
            limit: How many remaining senders to list for each attribute that loses a part or is one
                of `names`.

        Returns:
            By router, then version.
        """

    async def get_merges_of_messages(
        self, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        """Return what became of these messages (router, version) at clients."""

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        """Publish a withdrawal in one commit; see graph_rules/withdrawal_order for its steps.

        Afterwards nothing names an erased client: its refs are never reused, and its event ids
        are kept only as keyed hashes. Claims and a staged round are void. Older checkpoints are
        dropped.

        Args:
            lease: The learner's.
            barrier: Staged under this lease; it becomes the newest barrier.

        Raises:
            LeaseLost: The lease has a newer token; nothing was changed.
            VersionClash: A text has another version by now, or one that was committed after
                `texts_read_through` rests on what goes. Nothing was changed, except that past
                versions of texts may already have lost their citations.
        """

    wipes_in_seconds: bool
    """Whether `wipe` takes only seconds at any size: every erasure can then end with it."""

    async def wipe(self) -> None:
        """Remove all traces of erased clients from the database's files.

        The write-ahead log is one of these files.

        An adapter may leave dropped numbers without names (checkpoints) in the free space of a
        large file until new data overwrites them (docs/erasure.md). A client that is erased
        meanwhile still has to be wiped afterwards.

        Raises:
            StoreBusy: A reader prevents it now; call again.
        """

    async def is_wiping_due(self) -> bool:
        """Tell whether a client was erased and `wipe` did not finish since.

        A retraction leaves nothing to wipe.
        """


EXPORTED_KINDS = (
    "client",
    "client_before",
    "event",
    "retracted_event",
    "written",
    "reasoned",
    "dead_letter",
    "profile_version",
    "gradient",
    "merge",
    "message_part",
    "held_attributes",
    "edge",
    "point",
)
"""The kinds of records that a store exports, in their order."""


class ExportStore(Protocol):
    """Export of everything that the graph holds on a client."""

    def export_client(self, ref: int) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        """Yield kind and fields (JSON values) of a client's every record.

        The kinds come in the order of EXPORTED_KINDS. Other clients appear by id.
        """


class RetentionStore(Protocol):
    """Removal of old rows that nothing cites (docs/design.md, State)."""

    async def prune(self, before: int, limit: int) -> int | None:
        """Look at some rows, or drop at most `limit` of them.

        One call is a small step, and steps run one at a time. A step drops versions, edges,
        messages, merges and gradients whose life ended before a sequence. It keeps every client's
        and router's current version, whatever a line cited at `before` or later, every client's
        first edge, and all interactions with their weights. The first call moves `oldest_kept` to
        `before`.

        Args:
            before: The sequence.
            limit: At least 1; with 1 a step may drop two rows.

        Returns:
            How many rows were dropped; None if nothing is left to drop.
        """

    async def get_oldest_kept(self) -> int:
        """Return the first sequence that time travel can show.

        It is 0 until something was dropped.
        """
