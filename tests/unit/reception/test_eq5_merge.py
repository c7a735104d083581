"""Eq. 5: P_c^pro = merge({R_c}, F_c, P_c)."""

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import Author, ClientText, FilterMemory, FilterRule, Profile, ReasonerFailed
from propagation.reception.merge import apply_merge, fill_inbox, receive
from tests.unit.parties import USER, heard_line, item, line, message, profile, user

LAST_ROUND = 5


async def receive_messages(text, waiting, capacity=8, client=None, max_lines=12):
    return await receive(
        OfflineReasoner(max_lines), client or user(), text, waiting, LAST_ROUND, capacity, max_lines
    )


def list_heard_lines(text):
    return [one for one in text.profile.lines if one.author == Author.RECEPTION]


async def test_an_empty_buffer_is_no_work():
    text = ClientText(profile=Profile(ref=USER))
    assert (await receive_messages(text, [])).text is text


async def test_the_merged_profile_is_a_new_version_and_cites_the_message():
    text = ClientText(profile=profile(USER, line(1, "jazz")))
    reception = await receive_messages(text, [message(3, "jazz", "soul", version=2)])
    assert reception.text.profile.version == 2
    assert reception.text.watermark == LAST_ROUND
    [one] = list_heard_lines(reception.text)
    assert one.attributes == ("soul",), "what is new to the client, not what it says itself"
    assert [(source.router, source.version) for source in one.sources] == [(3, 2)]
    assert reception.text.profile.lines[0].attributes == ("jazz",), "its own line stays, in front"
    assert one.weight < 1


async def test_a_rule_below_a_half_keeps_a_router_out():
    memory = FilterMemory(rules=(FilterRule(router=3, factor=0.4, text="Leave out."),))
    text = ClientText(profile=Profile(ref=USER), filter_memory=memory)
    reception = await receive_messages(text, [message(3, "soul"), message(4, "funk")])
    assert [one.attributes for one in list_heard_lines(reception.text)] == [("funk",)]
    assert {(merge.router, merge.outcome) for merge in reception.merged} == {
        (3, "filtered"),
        (4, "merged"),
    }
    assert [one.router for one in reception.messages] == [4], "what was filtered took no part"


async def test_what_falls_out_of_the_buffer_is_counted_and_never_merged():
    waiting = [message(router, f"style {router}") for router in (1, 2, 3)]
    reception = await receive_messages(ClientText(profile=Profile(ref=USER)), waiting, capacity=1)
    assert reception.text.dropped == 2
    assert len(list_heard_lines(reception.text)) == 1
    assert sum(merge.outcome == "fell out" for merge in reception.merged) == 2


async def test_a_newer_message_of_a_router_takes_the_place_of_its_older_line():
    text = ClientText(profile=profile(USER, heard_line(1, 3, "soul")))
    reception = await receive_messages(text, [message(3, "funk", version=2)])
    assert [(one.id, one.attributes) for one in list_heard_lines(reception.text)] == [
        (1, ("funk",))
    ]


async def test_heard_lines_take_a_quarter_of_the_profile_at_most():
    own = [line(number, f"own {number}") for number in range(1, 10)]
    waiting = [message(router, f"style {router}") for router in range(8)]
    reception = await receive_messages(ClientText(profile=profile(USER, *own)), waiting)
    assert len(list_heard_lines(reception.text)) == 3
    assert len(reception.text.profile.lines) == 12


async def test_equal_news_of_two_routers_is_one_line_with_both_sources():
    reception = await receive_messages(
        ClientText(profile=Profile(ref=USER)), [message(1, "soul"), message(2, "soul")]
    )
    [one] = list_heard_lines(reception.text)
    assert {source.router for source in one.sources} == {1, 2}


async def test_an_item_hears_of_its_audience():
    reception = await receive_messages(
        ClientText(profile=Profile(ref=item().ref)), [message(1, "soul")], client=item()
    )
    assert "soul" in list_heard_lines(reception.text)[0].text


def test_where_the_merge_failed_the_messages_go_on_waiting():
    text = ClientText(profile=profile(USER, line(1, "jazz")), watermark=2)
    reception = apply_merge(
        fill_inbox(user(), text, [message(3, "soul")], 8),
        ReasonerFailed("not JSON"),
        LAST_ROUND,
        12,
    )
    assert reception.text is text
    assert (reception.merged, reception.messages) == ((), ())
