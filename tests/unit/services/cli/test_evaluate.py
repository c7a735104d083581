"""`evaluate` says before it measures what it will not do."""

import pytest

from services.cli.research.evaluate import evaluate
from services.client.errors import UsageProblem


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"protocol": "cold-start"},
        {"protocol": "leave-one-out"},
        {"vary": "k=2,4"},
    ],
)
def test_another_embedder_is_refused_in_one_line(tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match="set embedder=fitted") as refused:
        evaluate(tmp_path, assignments=["embedder=openai"], **how)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("picture", ["report.xyz", "report"])
def test_a_picture_of_no_known_kind_is_refused_before_anything_is_measured(tmp_path, picture):
    with pytest.raises(UsageProblem, match=r"^--plot"):
        evaluate(tmp_path / "no data is looked for", plot=tmp_path / picture)
