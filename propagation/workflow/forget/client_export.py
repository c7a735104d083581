"""ExportClient: everything held on a client, as JSON lines."""

from collections.abc import AsyncIterator, Mapping

import orjson

from propagation.model.clients.client import ClientKey, ClientKind, index_of, kind_of
from propagation.model.errors import NotFound
from propagation.ports.graph.graph_store import ForgettingGraph
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView


async def export_lines(
    store: ForgettingGraph, numbers: NumbersOwner, key: ClientKey
) -> AsyncIterator[str]:
    """A line a record, `what` naming its kind (see ports/graph/export.py), the numbers in memory
    last. Raises NotFound."""
    (ref,) = await store.find_refs([key])
    if ref is None:
        raise NotFound(key.kind.name.lower(), key.id)
    async for what, record in store.export_client(ref):
        yield orjson.dumps({"what": what, **record}).decode()
    yield orjson.dumps({"what": "numbers", **await numbers.run(_numbers_of, ref)}).decode()


def _numbers_of(view: NumbersView, ref: int) -> Mapping[str, object]:
    """A user's trust and sums, an item's mass and counts, as they stand at `applied_through`."""
    state, row = view.state, index_of(ref)
    if kind_of(ref) == ClientKind.USER:
        if row >= view.users:
            return {"applied_through": view.applied_through}
        return {
            "applied_through": view.applied_through,
            "interactions": int(state.history_length[row]),
            "trust": {
                "session": state.session.trust[row].tolist(),
                "taste": state.taste.trust[row].tolist(),
            },
            "content": state.user_content[row].tolist(),
            "attributes": state.user_attributes[row].tolist(),
            "profile": state.user_profile[row].tolist(),
        }
    if row >= view.items:
        return {"applied_through": view.applied_through}
    return {
        "applied_through": view.applied_through,
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
    }
