"""Eq. 8: a reward and a gradient for each module that took part."""

from collections import Counter

from propagation.adapters.offline.gradient import write_gradients
from propagation.model import Module
from tests.unit.parties import (
    NEGATIVE,
    POSITIVE,
    USER,
    heard_line,
    item,
    line,
    message,
    party,
    user,
    work,
)


async def assign_credit(reward, told_user=(), told_item=()):
    return write_gradients(
        work(),
        reward,
        party(
            user(),
            line(1, "jazz"),
            *(heard_line(2 + n, m.router, *m.attributes) for n, m in enumerate(told_user)),
            messages=told_user,
        ),
        party(item(), messages=told_item),
        party(item(NEGATIVE, "Tosca", ("opera",))),
    )


async def test_three_profiles_when_nothing_was_heard():
    gradients = await assign_credit(1)
    assert [(g.module, g.owner, g.reward) for g in gradients] == [
        (Module.PROFILE, USER, 1),
        (Module.PROFILE, POSITIVE, 1),
        (Module.PROFILE, NEGATIVE, 1),
    ]
    assert gradients[0].text.startswith("“Kind of Blue” was foreseen: keep")
    assert "jazz" in gradients[0].text


async def test_a_wrong_prediction_says_what_to_change():
    gradients = await assign_credit(0)
    assert "“Kind of Blue” was not foreseen" in gradients[0].text
    assert "more of jazz, less of opera" in gradients[0].text
    assert gradients[2].text.endswith("less of opera.")


async def test_filter_memories_and_routers_that_took_part_and_each_router_once():
    gradients = await assign_credit(
        1, told_user=(message(3, "jazz"), message(4, "opera")), told_item=(message(3, "jazz"),)
    )
    assert Counter(g.module for g in gradients) == {
        Module.PROFILE: 3,
        Module.FILTER_MEMORY: 2,
        Module.ROUTER: 2,
    }
    routers = {g.owner: g for g in gradients if g.module == Module.ROUTER}
    assert (routers[3].reward, routers[4].reward) == (1, 0), (
        "a router is judged by what it said, not by the reward"
    )
    assert routers[3].text.startswith("Spoke of jazz,")
    assert "keep" in routers[3].text
    assert routers[4].text.startswith("Spoke of opera while jazz was chosen: say less")
    assert all(g.writer == USER and g.sequence == 50 for g in gradients)
