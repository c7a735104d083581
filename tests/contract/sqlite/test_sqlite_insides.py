"""Checkpoints in parts of another size, and an erasure while another one is wiped."""

import pytest

from tests.contract.inside_cases import (
    keeps_due_what_is_taken_back_during_a_wipe,
    reads_parts_of_another_size,
)

pytestmark = pytest.mark.parametrize("opened", ["sqlite"], indirect=True)


async def test_a_checkpoint_in_parts_of_another_size_is_read(opened, monkeypatch):
    await reads_parts_of_another_size(opened, monkeypatch)


async def test_what_is_taken_back_while_somebody_wipes_stays_due(store, monkeypatch):
    await keeps_due_what_is_taken_back_during_a_wipe(store, monkeypatch)
