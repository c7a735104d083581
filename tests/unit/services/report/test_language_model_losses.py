"""Refused and lost parts of a model's answers, counted over all prompts."""

from propagation.v1 import propagation_pb2 as pb
from services.report.language_model import LossCount, count_losses


def test_losses_of_all_prompts_are_added_by_reason():
    def count(reason: str, number: int) -> pb.Loss:
        return pb.Loss(reason=reason, meaning=f"It is an {reason}.", count=number)

    prompts = [
        pb.PromptSpending(losses=[count("echo", 1)], refused=[count("echo", 3)]),
        pb.PromptSpending(losses=[count("echo", 1)], refused=[count("echo", 2), count("order", 9)]),
        pb.PromptSpending(),
    ]
    assert count_losses(prompts) == [
        LossCount("order", "It is an order.", 9, 0),
        LossCount("echo", "It is an echo.", 5, 2),
    ]
    assert count_losses([]) == []
