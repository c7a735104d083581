"""Texts of clients with the filter rules that count now."""

import asyncio
from collections.abc import Mapping, Sequence

from propagation.model import ClientText
from propagation.ports import InteractionReader


async def load_texts_in_force(
    store: InteractionReader, refs: Sequence[int]
) -> Mapping[int, ClientText]:
    """Load the current text of each client, without rules about replaced routers.

    A client without a text has an empty profile at version 0.
    """
    texts, bootstrap = await asyncio.gather(store.load_texts(refs), store.get_bootstrap_sequence())
    return {ref: text.with_rules_since(bootstrap) for ref, text in texts.items()}
