"""What is kept of an exchange with a model."""

from propagation.model import ANSWERED_CHARS, ASKED_CHARS, ModelExchange


def test_a_short_exchange_is_kept_whole():
    exchange = ModelExchange("who?\n“ann” \U0001f3b7", "nobody")
    assert exchange.cut() == exchange


def test_long_texts_lose_their_middle():
    asked, answered = ModelExchange("a" * 9_000 + "z" * 9_000, "b" * 4_001).cut()
    assert len(asked) == ASKED_CHARS
    assert asked.startswith("aaa")
    assert "\n[...]\n" in asked
    assert asked.endswith("zzz")
    assert len(answered) == ANSWERED_CHARS


def test_what_no_store_takes_is_left_out():
    assert ModelExchange("a\0b", "half \ud83c of it").cut() == ("ab", "half ? of it")
