"""The catalogue's inverted lists, and events that are not learned yet."""

from dataclasses import replace

import numpy as np

from propagation.model import (
    Client,
    ClientKey,
    ClientKind,
    Interactions,
    LogSlice,
    NewInteraction,
    RecordOutcome,
    RecordStatus,
    compute_ref,
)
from propagation.workflow.views import Catalogue, PendingEvents


def item(
    row: int, *attributes: str, categories: tuple[str, ...] = (), hidden: bool = False
) -> Client:
    return Client(
        ref=compute_ref(ClientKind.ITEM, row),
        key=ClientKey(kind=ClientKind.ITEM, id=f"i{row}"),
        title=f"T{row}",
        attributes=attributes,
        categories=categories,
        hidden=hidden,
    )


def test_names_are_normalised_and_any_of_each_list_is_enough():
    catalogue = Catalogue()
    catalogue.take(
        [
            item(0, "Jazz"),
            item(2, "  jazz ", "ＢＯＰ", categories=("LP",)),
            item(1, "opera", categories=("lp",)),
        ]
    )
    assert list(catalogue.find_rows_with(["JAZZ"], [])) == [0, 2]
    assert list(catalogue.find_rows_with(["jazz", "opera", "polka"], ["Lp"])) == [1, 2]
    assert list(catalogue.find_rows_with(["bop"], [])) == [2]
    assert list(catalogue.find_rows_with(["lp"], [])) == []
    assert catalogue.find_rows_with([], []) is None
    assert (catalogue.ids[2], catalogue.titles[1]) == ("i2", "T1")


def test_a_changed_item_leaves_its_old_lists():
    catalogue = Catalogue()
    catalogue.take([item(0, "jazz", "bop"), item(1, "jazz")])
    catalogue.take([item(0, "opera", "bop", hidden=True)])
    assert list(catalogue.find_rows_with(["jazz"], [])) == [1]
    assert list(catalogue.find_rows_with(["bop", "opera"], [])) == [0]
    assert catalogue.is_hidden(0)
    catalogue.take([item(0, "opera")])
    assert not catalogue.is_hidden(0)
    assert list(catalogue.find_rows_with(["bop"], [])) == []


def test_an_older_description_never_replaces_a_newer_one():
    catalogue = Catalogue()
    catalogue.take([replace(item(0, "jazz"), sequence=9)])
    catalogue.take([replace(item(0, "opera"), sequence=4, title="before")])
    assert (
        list(catalogue.find_rows_with(["jazz"], [])),
        list(catalogue.find_rows_with(["opera"], [])),
    ) == (
        [0],
        [],
    )
    assert catalogue.titles[0] == "T0"


def event(user: str, name: str) -> NewInteraction:
    return NewInteraction(
        event_id=f"{user}{name}", user_id=user, item_id=name, time=0, content_hash=""
    )


def test_only_what_was_accepted_waits_and_only_until_it_is_learned():
    unlearned = PendingEvents()
    unlearned.add_recorded(
        [event("ann", "a"), event("bob", "b"), event("ann", "c")],
        [
            RecordOutcome(status=RecordStatus.ACCEPTED, sequence=5),
            RecordOutcome(status=RecordStatus.DUPLICATE, sequence=2),
            RecordOutcome(status=RecordStatus.ACCEPTED, sequence=6),
        ],
    )
    column = np.array([7, 8])
    unlearned.add_log(
        6,
        LogSlice(
            interactions=Interactions(
                sequence=column,
                user=np.array([0, 1]),
                item=np.array([3, 4]),
                negative=-column,
                weight=column.astype(np.float64),
                seed=column.astype(np.uint64),
                day=column,
                time=column.astype(np.uint32),
            ),
            entries=(),
            through=8,
        ),
    )
    assert (unlearned.list_ids("ann"), unlearned.list_ids("bob"), unlearned.list_rows(0)) == (
        ["a", "c"],
        [],
        [3],
    )
    unlearned.drop_learned(5)
    assert unlearned.list_ids("ann") == ["c"]
    unlearned.drop_learned(7)
    assert (
        unlearned.list_ids("ann"),
        unlearned.list_rows(0),
        unlearned.list_rows(1),
        len(unlearned),
    ) == ([], [], [4], 1)
