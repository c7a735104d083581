"""Data that several tests of the service start from."""

import grpc

from propagation.v1 import propagation_pb2 as pb

USER, ITEM = pb.CLIENT_KIND_USER, pb.CLIENT_KIND_ITEM
ANN = pb.ClientKey(kind=USER, id="ann")


async def upsert_records(service, records) -> None:
    """Create items of (id, attribute, category)."""
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=ITEM, id=id_),
                    title=f"Record {id_[1:]}",
                    attributes=[attribute],
                    categories=[category] if category else [],
                )
                for id_, attribute, category in records
            ]
        )
    )


async def record_choices(service, choices) -> int:
    """Record (event id, user, item); return the last sequence."""
    answer = await service.stub.RecordInteractions(
        pb.RecordInteractionsRequest(
            interactions=[
                pb.Interaction(event_id=event_id, user_id=user, item_id=item)
                for event_id, user, item in choices
            ]
        )
    )
    return answer.sequence


async def propagate_opera(service) -> pb.Line:
    """Let Bob and Cid turn to opera, until Ann receives a message.

    Returns:
        The line of Ann's profile that rests on the message.
    """
    await upsert_records(
        service, [(f"i{n}", "jazz" if n < 10 else "opera", None) for n in range(20)]
    )
    for wave in (
        [(user, f"i{n}") for user in ("ann", "bob", "cid") for n in range(4)],
        [("bob", "i15"), ("cid", "i15")],
    ):
        await record_choices(service, [(f"{user}-{item}", user, item) for user, item in wave])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    answer = await service.stub.GetProfile(
        pb.GetProfileRequest(key=ANN, freshness=pb.FRESHNESS_MERGED)
    )
    return next(line for line in answer.profile.lines if line.author == pb.AUTHOR_RECEPTION)


async def plant_two_communities(service, users=6, items=30) -> int:
    """Let even users choose jazz, and odd users opera.

    The first half of the items is jazz.

    Returns:
        The last sequence.
    """
    half = items // 2
    await upsert_records(
        service,
        [
            (f"i{n}", "Jazz" if n < half else "Opera", "vinyl" if n % 2 else "cd")
            for n in range(items)
        ],
    )
    return await record_choices(
        service,
        [
            (f"{user}-{n}", f"u{user}", f"i{(n + user) % half + user % 2 * half}")
            for n in range(6)
            for user in range(users)
        ],
    )


async def catch_code(call):
    """Return OK, or the status code of the failure."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
