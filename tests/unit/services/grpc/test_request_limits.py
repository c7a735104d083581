"""Page tokens that were not given out, and texts without a limit."""

import base64

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from propagation.model import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import Position, WatchEventKind
from services.grpc.handlers.watch_propagation import ResumeTokens
from services.grpc.requests import make_token, parse_field_mask, parse_page


def parse_token(token, question="routers 1 None"):
    return parse_page(pb.ListRoutersRequest(page_token=token), question)


def test_a_token_that_was_given_out_is_taken():
    assert parse_token(parse_token("").create_next_token(100)).start == 100


def test_altered_forged_and_other_tokens_are_refused():
    good = parse_token("").create_next_token(100)
    forged = [
        good[:-1],
        good + "0",
        good[:-3] + "200",
        good[:-3] + "-10",
        "A" + good[1:] if good[0] != "A" else "B" + good[1:],
        good + "\n",
        good.replace(".100", ".１００"),
        parse_token("", "routers 2 None").create_next_token(100),
        parse_token("", "members taste 1 None True").create_next_token(100),
        make_token("routers 1 None", -1),
        *(
            base64.urlsafe_b64encode(f"routers 1 None|{start}".encode()).decode()
            for start in (100, -1, 10**30)
        ),
        "x" * 100_000,
        "é",
    ]
    for token in forged:
        with pytest.raises(InvalidInput, match="page_token"):
            parse_token(token)


def test_an_altered_resume_token_is_refused():
    tokens = ResumeTokens(frozenset(WatchEventKind), 5)
    newest, position = Position(9, 9, 9, 9, 9), Position(3, 2, -1, 7, 1)
    good = tokens.encode(position)
    assert tokens.decode(good, newest) == position
    negative = tokens.encode(Position(-7, 0, -1, 0, 0))
    other_kinds = ResumeTokens({WatchEventKind.ROUND}, 5).encode(position)
    rounds = make_token("routers 1 None", 5, 3, 2, -1, 7, 1)
    for token in (
        negative,
        other_kinds,
        rounds,
        good[:-1] + "2",
        good.replace(".3.", ".2."),
        f"{good}.1",
        good.rpartition(".")[0],
        "A" * 16 + good[16:],
        "WzIsWyJyb3VuZCJdLDUsMywyLC0xLDcsMV0=",
    ):
        with pytest.raises(InvalidInput, match=r"resume_token.*kinds"):
            tokens.decode(token, newest)


def test_a_long_path_is_cut_in_the_message():
    with pytest.raises(InvalidInput) as refusal:
        parse_field_mask(FieldMask(paths=["x" * 100_000]))
    assert len(str(refusal.value)) < 300
