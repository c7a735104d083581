"""The merge of an upsert into the clients that the graph has."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.model import Client, ClientChange, ClientKey, ClientOutcome


@dataclass(frozen=True)
class Upsert:
    """The effect of the changes of one commit.

    Attributes:
        changed: The clients to store, with their new content, in the order of their first change.
    """

    changed: Sequence[Client]
    _outcomes: Sequence[ClientOutcome]

    def outcomes(self, sequence: int) -> list[ClientOutcome]:
        """Return the outcomes in the order of the changes.

        Args:
            sequence: The sequence of the commit's log entry. A client without any change keeps the
                sequence that it has.
        """
        changed = {client.ref for client in self.changed}
        return [
            replace(outcome, sequence=sequence) if outcome.ref in changed else outcome
            for outcome in self._outcomes
        ]


def list_keys_to_create(
    changes: Iterable[ClientChange], known: Collection[ClientKey]
) -> list[ClientKey]:
    """List the clients that the graph does not have yet.

    Each is listed once, in the order of the changes.
    """
    return [key for key in dict.fromkeys(change.key for change in changes) if key not in known]


def merge_changes(
    changes: Sequence[ClientChange],
    known: Mapping[ClientKey, Client],
    created: Mapping[ClientKey, int],
) -> Upsert:
    """Merge changes into clients. The same content again changes nothing.

    Args:
        changes: In order; fields that are None are kept.
        known: The clients that the graph has.
        created: The refs of the clients in `list_keys_to_create`.
    """
    clients = {**known, **{key: Client(ref=ref, key=key) for key, ref in created.items()}}
    new = set(created)
    touched: dict[ClientKey, Client] = {}
    outcomes = []
    for change in changes:
        key = change.key
        after = change.apply_to(clients[key])
        is_changed = key in new or after != clients[key]
        outcomes.append(ClientOutcome(after.ref, after.sequence, key in new, is_changed))
        if is_changed:
            touched[key] = clients[key] = after
        new.discard(key)
    return Upsert(list(touched.values()), outcomes)
