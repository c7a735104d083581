"""`evaluate` does not measure with another embedder than it was told without a word."""

import pytest

from services.cli.evaluate import Protocol, evaluate
from services.failures import UsageProblem


@pytest.mark.parametrize("how", [{}, {"protocol": Protocol.COLD_START}, {"protocol": Protocol.LEAVE_ONE_OUT}, {"vary": "k=2,4"}])
def test_another_embedder_is_refused_in_one_line(tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match="set embedder=fitted") as refused:
        evaluate(tmp_path, assignments=["embedder=openai"], **how)
    assert "\n" not in str(refused.value)
