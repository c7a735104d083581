"""Hides everything but a store's ports, so that cases fit any store."""

from inspect import get_annotations

import pytest

from propagation.ports import GraphStore

PORTS = {name for port in GraphStore.__mro__ for name in (*vars(port), *get_annotations(port))}


class PortsOnly:
    """A store that has the members of its ports and no others."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        if name not in PORTS:
            raise AttributeError(f"{name} is on no port of a graph store")
        return getattr(self._store, name)


@pytest.fixture
async def reopen(reopen):
    async def open_again():
        return PortsOnly(await reopen())

    return open_again
