"""Export of everything that is stored about a client."""

from collections.abc import AsyncIterator, Mapping

import orjson

from propagation.model import ClientKey, ClientKind, get_kind, index_of
from propagation.numbers import ITEM_TABLES
from propagation.ports import GraphStore
from propagation.workflow.views import NumbersOwner, NumbersView, find_ref


async def export_lines(
    store: GraphStore, numbers: NumbersOwner, key: ClientKey
) -> AsyncIterator[str]:
    """Yield each record as a JSON line; its `what` names the kind.

    The kinds are EXPORTED_KINDS, and at the end "numbers", which this process has in memory.

    Raises:
        NotFound: The client is unknown.
    """
    ref = await find_ref(store, key)
    async for kind, fields in store.export_client(ref):
        yield orjson.dumps({"what": kind, **fields}).decode()
    yield orjson.dumps({"what": "numbers", **await numbers.run(_export_numbers, ref)}).decode()


def _export_numbers(view: NumbersView, ref: int) -> Mapping[str, object]:
    """Return a user's trust and sums, or an item's mass and counts.

    `applied_through` says which sequence they reflect. A client that is not in the view yet has
    nothing else.
    """
    applied = {"applied_through": view.applied_through}
    state, row, is_user = view.state, index_of(ref), get_kind(ref) == ClientKind.USER
    if row >= (view.users if is_user else view.items):
        return applied
    if is_user:
        return applied | {
            "interactions": int(state.history_length[row]),
            "trust": {
                "session": state.session.trust[row].tolist(),
                "taste": state.taste.trust[row].tolist(),
            },
            "content": state.user_content[row].tolist(),
            "attributes": state.user_attributes[row].tolist(),
            "profile": state.user_profile[row].tolist(),
            "taste_vector": state.factors.taste[row].tolist(),
        }
    return applied | {
        "adoptions": int(state.adoptions[row]),
        "visible": bool(state.visible[row]),
        "mass": {
            "session": state.session.mass[row].tolist(),
            "taste": state.taste.mass[row].tolist(),
        },
        "content": state.content[row].tolist(),
        "attributes": state.attributes[row].tolist(),
        "adopters": state.adopters[row].tolist(),
        "profile": state.item_profile[row].tolist(),
        "factors": {name: getattr(state.factors, name)[row].tolist() for name in ITEM_TABLES},
    }
