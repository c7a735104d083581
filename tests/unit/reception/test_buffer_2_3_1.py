"""The buffer (RecNet 2.3.1), against a queue that keeps the newest B and counts the others."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.model import IntegratedAttribute, RouterVersion
from propagation.reception.message_buffer import fill_buffer

OTHER = 9


def message(router, round_, *senders):
    return RouterVersion(
        router=router,
        version=round_,
        round=round_,
        epoch=1,
        name="jazz",
        text="A community.",
        attributes=("jazz",),
        integrated=tuple(
            IntegratedAttribute(attribute="jazz", ref=ref, profile_version=1, sequence=1)
            for ref in senders
        ),
    )


def test_last_in_first_out_with_capacity_two():
    newest_first = [message(4, 30, OTHER), message(2, 20, OTHER), message(3, 10, OTHER)]
    buffer = fill_buffer(newest_first, 2)
    assert [m.router for m in buffer.kept] == [4, 2]
    assert [m.router for m in buffer.dropped] == [3]


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=30),
    st.integers(1, 8),
)
def test_it_equals_a_model_queue(sent, capacity):
    messages = [message(router, 100 - place, OTHER) for place, router in enumerate(sent)]
    queue: list[RouterVersion] = []
    lost = 0
    for one in reversed(messages):
        queue.insert(0, one)
        if len(queue) > capacity:
            queue.pop()
            lost += 1
    buffer = fill_buffer(messages, capacity)
    assert list(buffer.kept) == queue
    assert len(buffer.dropped) == lost
