"""RecNet 2.3.1: which messages wait for a client."""

from propagation.reception.message_buffer import ClientEdge, Receiver, SentMessage, WaitingMessages

ANN, BOB = 7, 9
JAZZ, OPERA = 3, 4


def find_waiting(sent, *receivers, through=9):
    """Find the messages that wait for the first receiver, looked up as a store would."""
    search = WaitingMessages(receivers, through)

    def find_newest(messages):
        return max(messages, key=lambda one: one.round, default=None)

    current = {
        (router, round_): found
        for router, round_ in search.list_rounds()
        if (found := find_newest([m for m in sent if m.router == router and m.round <= round_]))
    }
    from_others = {
        window: found
        for window in search.list_own_windows(current)
        if (
            found := find_newest(
                m
                for m in sent
                if m.router == window.router
                and window.since <= m.round <= window.until
                and m.lone_sender != window.ref
            )
        )
    }
    return search.choose(current, from_others)[receivers[0].ref]


def message(router, version, round_, lone_sender=None, epoch=0):
    return SentMessage(router, version, round_, lone_sender, epoch)


def receiver(*edges, watermark=0, era=0):
    first = min((edge.opened for edge in edges), default=None)
    return Receiver(ANN, watermark, edges, first, era)


def test_only_the_newest_message_of_a_router_waits():
    sent = [message(JAZZ, 1, 1), message(JAZZ, 2, 3)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1))) == [(JAZZ, 2)]


def test_the_newest_round_comes_first_then_the_lowest_router():
    sent = [message(JAZZ, 1, 2), message(OPERA, 1, 3), message(5, 1, 3)]
    edges = [ClientEdge(router, 1) for router in (JAZZ, OPERA, 5)]
    assert find_waiting(sent, receiver(*edges)) == [(OPERA, 1), (5, 1), (JAZZ, 1)]


def test_nothing_at_or_before_the_watermark_waits():
    sent = [message(JAZZ, 1, 2), message(OPERA, 1, 3)]
    edges = ClientEdge(JAZZ, 1), ClientEdge(OPERA, 1)
    assert find_waiting(sent, receiver(*edges, watermark=2)) == [(OPERA, 1)]


def test_a_message_after_the_edge_closed_does_not_wait():
    sent = [message(JAZZ, 1, 2), message(JAZZ, 2, 4)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1, closed=4))) == [(JAZZ, 1)]


def test_a_message_from_before_a_later_edge_does_not_wait():
    sent = [message(OPERA, 1, 2)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1), ClientEdge(OPERA, 3))) == []


def test_what_was_current_when_the_first_edge_opened_waits():
    assert find_waiting([message(JAZZ, 4, 1)], receiver(ClientEdge(JAZZ, 3))) == [(JAZZ, 4)]


def test_what_a_router_of_an_earlier_bootstrap_sent_does_not_wait_for_a_new_client():
    sent = [message(JAZZ, 4, 1, epoch=1), message(OPERA, 7, 2, epoch=3)]
    edges = ClientEdge(JAZZ, 3), ClientEdge(OPERA, 3)
    assert find_waiting(sent, receiver(*edges, era=2)) == [(OPERA, 7)]


def test_the_first_edge_no_longer_counts_once_the_watermark_has_reached_it():
    assert find_waiting([message(JAZZ, 4, 1)], receiver(ClientEdge(JAZZ, 3), watermark=3)) == []


def test_a_later_reader_sees_no_message_of_a_round_after_its_own():
    sent = [message(JAZZ, 1, 2), message(JAZZ, 2, 5)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1)), through=4) == [(JAZZ, 1)]


def test_a_message_from_the_client_alone_neither_waits_nor_supersedes():
    sent = [message(JAZZ, 1, 2), message(JAZZ, 2, 3, lone_sender=ANN)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1))) == [(JAZZ, 1)]


def test_a_message_from_one_other_client_waits():
    sent = [message(JAZZ, 1, 2), message(JAZZ, 2, 3, lone_sender=BOB)]
    assert find_waiting(sent, receiver(ClientEdge(JAZZ, 1))) == [(JAZZ, 2)]


def test_nothing_waits_for_a_client_without_edges():
    assert find_waiting([message(JAZZ, 1, 1)], receiver()) == []
