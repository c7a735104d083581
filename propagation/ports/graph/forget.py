"""Withdrawing interactions, erasing and exporting clients, and dropping old rows."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from propagation.model import (
    AffectedMessage,
    CitationSearch,
    ClientEvent,
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

    async def find_orphans(self, ref: int) -> Sequence[int]:
        """Find the items that exist only because of a client's events.

        An event created them, no upsert ever named them (Client.only_in_events), and no event
        names them that the client has no part in: neither as the item nor as the negative, nor as
        the item of a retracted event.

        Returns:
            Their refs, ascending; the client itself is none of them.
        """

    async def get_user_choices(self, users: Sequence[int]) -> UserChoices:
        """Return every interaction of these users (refs), by user, then sequence."""

    async def get_learned_weights(self, sequences: Sequence[int]) -> LearnedWeights:
        """Return the weights that interactions wrote; unlearned ones are left out."""

    async def find_citing_texts(self, searches: Sequence[CitationSearch]) -> Sequence[StoredText]:
        """Find stored versions of texts that cite what a search names.

        Other versions may be returned, too. A version matches if (see Citations)

        - it cites one of `sequences`,
        - a line cites one of `messages` and has one of that message's attributes or holds one of
          `message_words`,
        - a filter rule holds one of `rule_words`, or one of the `router_words` of its router, or
        - any line or rule holds one of `words`.

        Returns:
            Each version once, by ref, then version.
        """

    async def find_names_used_by_others(self, ref: int, names: frozenset[str]) -> frozenset[str]:
        """Return those names that another client's own text holds.

        Args:
            ref: The client whose own text does not count.
            names: Normalized attribute names. A client's own text is its title, description,
                attributes and categories.
        """

    async def find_clients_naming(
        self, words: frozenset[str], replaced_by: int | None = None
    ) -> frozenset[int]:
        """Find clients with a stored text that holds one of the words.

        Args:
            replaced_by: Search only versions that a newer one had replaced by this sequence; None:
                every version of every client.

        Returns:
            Their refs.
        """

    async def get_brought_attributes(self, refs: Sequence[int]) -> frozenset[str]:
        """Return the attributes that these clients brought to messages."""

    async def find_affected_messages(
        self,
        refs: Sequence[int],
        sequences: frozenset[int],
        erased_refs: Collection[int],
        words: frozenset[str],
        titles: frozenset[str],
        names: frozenset[str],
        origins: Mapping[int, frozenset[int]],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        """Find published messages that a withdrawal affects.

        Such messages lose parts, or may stand for less after the withdrawal, or may name an erased
        client; graph_rules/withdrawal_order chooses them.

        Args:
            refs: Clients whose parts from these `sequences` are withdrawn.
            sequences: The interactions that are withdrawn.
            erased_refs: Those of `refs` whose parts are all withdrawn; none for a retraction.
            words: Also find messages with one of these words in name, text or attributes, and
                messages whose text was withdrawn before (they may have held one).
            titles: Also find messages with one of these titles in their text.
            names: Also find messages that bring one of these attributes, or whose router stands
                for it.
            origins: By router, the routers that it evolved from.
            limit: How many remaining senders to list for each attribute that loses a part or is one
                of `names`.

        Returns:
            By router, then version.
        """

    async def get_merges_of_messages(
        self, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        """Return all merges and drops of these messages (router, version)."""

    def prepare_withdrawal(self, *, search: bool) -> AsyncIterator[None]:
        """Make the next `withdraw` faster.

        Nothing depends on it: a caller may stop it at any time.

        Args:
            search: Whether to make the search before it faster, too.

        Yields:
            After each piece of work, so that the caller may rest.
        """

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        """Publish a withdrawal in one commit; see graph_rules/withdrawal_order for its steps.

        Afterwards nothing names an erased client, nor an item that goes with it, except for the
        log entry of each: their refs are never reused, and the client's event ids are kept only as
        keyed hashes. All claims and a staged round become void. Older checkpoints
        are dropped.

        Args:
            lease: The learner's lease.
            barrier: A checkpoint staged under this lease, which becomes the newest barrier.

        Raises:
            LeaseLost: The lease has a newer token; nothing was changed.
            VersionClash: A text has another version by now, or a text that was committed after
                `texts_read_through` cites something that is withdrawn, or other items go with the
                client than `orphans`. Nothing was changed, except
                that past versions of texts may already have lost their citations.
        """

    wipes_in_seconds: bool
    """Whether `wipe` takes only seconds, however large the database is.

    Every erasure can then end with `wipe`.
    """

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
        """Tell whether a client was erased since the last complete `wipe`.

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
    """Export of what is stored of a client, and its events."""

    def export_client(self, ref: int) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        """Yield kind and fields (JSON values) of a client's every record.

        The kinds come in the order of EXPORTED_KINDS. Other clients appear by id.
        """

    async def get_client_events(
        self, ref: int, limit: int, before: int | None = None
    ) -> Sequence[ClientEvent]:
        """Return a client's events, newest first.

        The client is the user or the positive item. Retracted events are among them; forgotten
        ones are not.

        Args:
            limit: How many events at most.
            before: Only events with a smaller sequence.
        """


class RetentionStore(Protocol):
    """Removal of old rows that are not cited (docs/design.md, State)."""

    async def prune(self, before: int, limit: int) -> int | None:
        """Look at some rows, or drop at most `limit` of them.

        One call is a small step, and steps run one at a time. A step drops versions, edges,
        messages, merges and gradients whose life ended before a sequence. It keeps the current
        version of every client and router, everything that a line cited at `before` or later, the
        first edges of every client, and all interactions with their weights. The first call moves
        `oldest_kept` to `before`.

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
