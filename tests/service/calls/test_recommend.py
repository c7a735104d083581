"""Recommend: every field, and the requests that are refused."""

import asyncio

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import ITEM, USER, plant_two_communities


async def recommend(service, sequence, user="u0", **fields) -> pb.RecommendResponse:
    return await service.stub.Recommend(
        pb.RecommendRequest(user_id=user, min_sequence=sequence, **fields)
    )


def list_item_ids(answer: pb.RecommendResponse) -> list[str]:
    return [item.item_id for item in answer.recommendations]


async def test_the_list_is_of_the_users_community_and_best_first(service):
    sequence = await plant_two_communities(service)
    answer = await recommend(service, sequence, limit=5)
    assert len(answer.recommendations) == 5
    assert sum(int(name[1:]) < 15 for name in list_item_ids(answer)) >= 4
    scores = [item.score for item in answer.recommendations]
    assert scores == sorted(scores, reverse=True)


async def test_the_answer_says_what_it_reflects_and_who_ranked(service):
    sequence = await plant_two_communities(service)
    answer = await recommend(service, sequence)
    assert answer.reflects.applied_through >= sequence
    assert (answer.ranked_by, answer.cold) == (pb.RANKER_NUMBERS, False)
    assert answer.recommendations[0].title == f"Record {list_item_ids(answer)[0][1:]}"


async def test_items_that_the_user_chose_are_left_out_unless_asked_for(service):
    sequence = await plant_two_communities(service)
    fresh = await recommend(service, sequence, limit=1000)
    assert not set(list_item_ids(fresh)) & {f"i{n}" for n in range(6)}
    everything = await recommend(service, sequence, limit=1000, exclude_seen=False)
    assert len(everything.recommendations) == 30


async def test_a_reasoner_that_cannot_rank_leaves_the_numbers_order(service):
    sequence = await plant_two_communities(service)
    asked = await recommend(service, sequence, ranker=pb.RANKER_REASONER)
    assert asked.ranked_by == pb.RANKER_NUMBERS
    assert list_item_ids(asked) == list_item_ids(await recommend(service, sequence))


async def test_filters_need_one_value_of_each_list(service):
    sequence = await plant_two_communities(service)
    opera = await recommend(service, sequence, attributes=["OPERA", "polka"], limit=100)
    assert opera.recommendations
    assert all(int(name[1:]) >= 15 for name in list_item_ids(opera))
    both = await recommend(service, sequence, attributes=["opera"], categories=["Vinyl"], limit=100)
    assert set(list_item_ids(both)) == {name for name in list_item_ids(opera) if int(name[1:]) % 2}
    assert not list_item_ids(await recommend(service, sequence, attributes=["polka"]))


async def test_candidates_are_ranked_and_unknown_ones_listed(service):
    sequence = await plant_two_communities(service)
    hidden = await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=ITEM, id="i20"), hidden=True)]
        )
    )
    answer = await recommend(
        service, hidden.sequence, candidate_ids=["i20", "i12", "nowhere", "i13", "i13"]
    )
    assert set(list_item_ids(answer)) == {"i12", "i13"}
    assert list(answer.unknown_candidate_ids) == ["i20", "nowhere"]
    filtered = await recommend(
        service, sequence, candidate_ids=["i12", "i21"], attributes=["opera"]
    )
    assert list_item_ids(filtered) == ["i21"]


async def test_a_hidden_item_is_left_out_before_it_is_learned(service, monkeypatch):
    sequence = await plant_two_communities(service)
    first = list_item_ids(await recommend(service, sequence))[0]
    with monkeypatch.context() as patch:
        patch.setattr(service.engine.learner, "step", return_zero)
        await service.stub.UpsertClients(
            pb.UpsertClientsRequest(
                clients=[pb.Client(key=pb.ClientKey(kind=ITEM, id=first), hidden=True)]
            )
        )
        assert first not in list_item_ids(await recommend(service, sequence, exclude_seen=False))
        assert list(
            (await recommend(service, sequence, candidate_ids=[first])).unknown_candidate_ids
        ) == [first]


async def test_a_hidden_item_is_left_out_while_its_text_is_embedded(service, monkeypatch):
    sequence = await plant_two_communities(service)
    first = list_item_ids(await recommend(service, sequence))[0]
    embedding, embedded = asyncio.Event(), asyncio.Event()
    embed = service.engine.embedder.embed

    async def embed_slowly(texts):
        embedding.set()
        await embedded.wait()
        return await embed(texts)

    monkeypatch.setattr(service.engine.embedder, "embed", embed_slowly)
    hidden = await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=ITEM, id=first), hidden=True)]
        )
    )
    await asyncio.wait_for(embedding.wait(), 10)
    meanwhile = list_item_ids(await recommend(service, sequence, exclude_seen=False))
    embedded.set()
    assert first not in meanwhile
    assert first not in list_item_ids(await recommend(service, hidden.sequence, exclude_seen=False))


async def return_zero():
    return 0


async def test_a_hidden_item_is_left_out_until_it_is_shown_again(service):
    sequence = await plant_two_communities(service)
    first = list_item_ids(await recommend(service, sequence))[0]
    for hidden in (True, False):
        upserted = await service.stub.UpsertClients(
            pb.UpsertClientsRequest(
                clients=[pb.Client(key=pb.ClientKey(kind=ITEM, id=first), hidden=hidden)]
            )
        )
        answer = await recommend(service, upserted.sequence, limit=100)
        assert (first in list_item_ids(answer)) is not hidden


async def test_an_unknown_user_gets_the_popular_items(service):
    await plant_two_communities(service)
    popular = [
        pb.Interaction(event_id=f"hit-{n}-{item}", user_id=f"fan{n}", item_id=item)
        for n in range(30)
        for item in ("i28", "i29")
    ]
    sequence = (
        await service.stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=popular))
    ).sequence
    answer = await recommend(service, sequence, user="nobody at all")
    assert answer.cold
    assert len(answer.recommendations) == 10
    assert set(list_item_ids(answer)[:2]) == {"i28", "i29"}
    again = await recommend(service, sequence, user="nobody at all")
    assert list_item_ids(again) == list_item_ids(answer), "the order is the same each time"


async def test_explanations_for_an_unknown_user_claim_no_taste(service):
    sequence = await plant_two_communities(service)
    answer = await recommend(service, sequence, user="nobody at all", explain=True, limit=30)
    for item in answer.recommendations:
        assert not any(word in item.explanation.text for word in ("this user's", "this user chose"))


async def test_a_new_users_own_text_counts(service):
    await plant_two_communities(service)
    upserted = await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=USER, id="new"), description="opera", attributes=["Opera"]
                )
            ]
        )
    )
    answer = await recommend(service, upserted.sequence, user="new", explain=True)
    assert answer.cold
    part = {part.feature: part for part in answer.recommendations[0].explanation.parts}[
        "attributes"
    ]
    assert part.raw > 0
    assert sum(int(name[1:]) >= 15 for name in list_item_ids(answer)) >= 8


async def test_an_acked_event_is_left_out_before_it_is_learned(start_service):
    async with start_service(auto_create=True) as service:
        sequence = await plant_two_communities(service)
        first = list_item_ids(await recommend(service, sequence))[0]
        await service.worker.stop()
        await service.stub.RecordInteractions(
            pb.RecordInteractionsRequest(
                interactions=[pb.Interaction(event_id="fresh", user_id="u0", item_id=first)]
            )
        )
        answer = await service.stub.Recommend(pb.RecommendRequest(user_id="u0", limit=100))
        assert answer.reflects.applied_through < sequence + 1
        assert first not in list_item_ids(answer)
        assert first in list_item_ids(await recommend(service, 0, exclude_seen=False, limit=100))
    async with start_service(auto_create=True) as service:
        assert first not in list_item_ids(await recommend(service, 0, limit=100))


async def test_the_parts_sum_to_the_score(service):
    sequence = await plant_two_communities(service)
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    for propagate in (True, False):
        answer = await recommend(service, sequence, explain=True, propagate=propagate)
        for item in answer.recommendations:
            parts = {part.feature: part for part in item.explanation.parts}
            assert sum(part.product for part in parts.values()) == pytest.approx(
                item.score, abs=1e-9
            )
            assert all(
                part.product == pytest.approx(part.value * part.weight) for part in parts.values()
            )
            assert ("lift_taste" in parts) is propagate
            assert bool(item.explanation.routers) is propagate
            assert item.explanation.text
            assert not any(character.isdigit() for character in item.explanation.text)


async def test_the_parts_of_the_history_sum_to_its_factor(service):
    sequence = await plant_two_communities(service)
    answer = await recommend(service, sequence, explain=True, limit=30)
    assert answer.recommendations
    for one in answer.recommendations:
        explanation = one.explanation
        (raw,) = (part.raw for part in explanation.parts if part.feature == "history")
        shown = [part.long_run + part.session for part in explanation.history]
        assert all(part > 0 for part in shown)
        assert sum(shown) + explanation.history_rest == pytest.approx(raw, abs=1e-4)


async def test_routers_explain_the_lift_by_community(service):
    sequence = await plant_two_communities(service)
    answer = await recommend(service, sequence, explain=True, exclude_seen=False, limit=30)
    item = {item.item_id: item for item in answer.recommendations}["i5"]
    for bank in (pb.BANK_SESSION, pb.BANK_TASTE):
        routers = [router for router in item.explanation.routers if router.bank == bank]
        assert 0 < sum(router.share for router in routers) <= 1 + 1e-9
        assert sum(router.adopters for router in routers) == 3
    assert max(router.lift for router in item.explanation.routers) > 0


async def test_a_sequence_that_is_not_reached_is_unavailable(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.Recommend(
            pb.RecommendRequest(user_id="u0", min_sequence=10**9), timeout=0.5
        )
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "up to 0" in caught.value.details()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "x" * 257}, "user_id"),
        ({"candidate_ids": [""]}, "candidate_ids[0]"),
        ({"candidate_ids": ["a"] * 10_001}, "candidate_ids"),
        ({"attributes": ["a"] * 65}, "attributes"),
        ({"min_sequence": -1}, "min_sequence"),
        ({"ranker": 9}, "ranker"),
    ],
)
async def test_bad_input_is_refused_by_field(service, fields, field):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.Recommend(pb.RecommendRequest(**{"user_id": "u0", **fields}))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith(f"{field}: ")


async def test_an_empty_service_has_an_empty_list(service):
    answer = await service.stub.Recommend(pb.RecommendRequest(user_id="u0"))
    assert not answer.recommendations
    assert answer.cold
