"""What models cost, in words."""

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.cli.operator.service import describe_spending


@pytest.mark.parametrize(
    ("calls", "words"), [(1, "1 call, 0 from the cache"), (2, "2 calls, 0 from the cache")]
)
def test_one_call_is_singular(calls, words):
    prompts = [
        pb.PromptSpending(
            prompt="profile@1",
            calls=calls,
            lost_parts=1,
            losses=[pb.Loss(reason="echo", count=1)],
            parts=3,
            refused=[pb.Loss(reason="echo", count=2)],
        )
    ]
    [(name, said), (refused, why)] = describe_spending(pb.Spending(prompts=prompts))
    assert name == "spent on profile@1"
    assert words in said
    assert (refused, why) == ("refused of profile@1", "2 echo in 3 parts; 1 part lost: 1 echo")
