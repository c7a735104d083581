"""Checkpoints in parts of another size, and an erasure while another one is wiped."""

import pytest

from tests.contract.inside_cases import (
    assert_other_part_sizes_are_read,
    assert_wiping_stays_due,
)

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.parametrize("reopen", ["neo4j"], indirect=True),
]


async def test_a_checkpoint_in_parts_of_another_size_is_read(reopen, monkeypatch):
    await assert_other_part_sizes_are_read(reopen, monkeypatch)


async def test_what_is_taken_back_while_somebody_wipes_stays_due(store, monkeypatch):
    await assert_wiping_stays_due(store, monkeypatch)
