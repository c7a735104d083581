"""What the page Now tells an operator to do, from a status."""

from propagation.v1 import propagation_pb2 as pb
from services.report.language_model import list_model_warnings
from services.web.views.now import list_tasks

WORKING = {"items": 1, "bootstrapped": True, "propagate": True}


def test_nothing_is_to_be_done_while_all_is_well():
    budget = pb.Budget(name="tokens_per_day", used=99, limit=100)
    unlimited = pb.Budget(name="money_per_day", used=7)
    status = pb.GetStatusResponse(**WORKING, budgets=[budget, unlimited])
    assert list(list_tasks(status)) == []


def test_texts_wait_while_a_budget_is_spent():
    """Unless the setting openai.fallback is "unavailable", whose default is "never"."""
    budget = pb.Budget(name="tokens_per_day", used=100, limit=100)
    [task] = list_tasks(pb.GetStatusResponse(**WORKING, budgets=[budget]))
    assert task.sentence.startswith(
        "The budget tokens_per_day is spent (100 of 100), so new texts wait"
    )
    assert "only with openai.fallback=unavailable" in task.sentence


def test_each_warning_of_the_model_is_a_task():
    status = pb.GetStatusResponse(
        **WORKING,
        predictors=[
            pb.Predictor(name="m", in_use=True, warning="it goes by place"),
            pb.Predictor(name="old", warning="no longer in use"),
        ],
        spending=pb.Spending(
            prompts=[pb.PromptSpending(prompt="merge@2", parts=40, lost_parts=30)]
        ),
    )
    warnings = list_model_warnings(status)
    assert len(warnings) == 2
    tasks = list(list_tasks(status))
    assert [task.sentence.lower() for task in tasks] == [f"{one.lower()}." for one in warnings]
    assert tasks[0].sentence == "It goes by place."
    assert {task.link for task in tasks} == {"/failures"}
