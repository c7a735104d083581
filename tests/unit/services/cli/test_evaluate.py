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


@pytest.mark.parametrize(
    "where",
    [
        {"save": "gone/report.json"},
        {"plot": "gone/report.png"},
        {"plot": "report.xyz"},
        {"plot": "report"},
    ],
)
def test_what_could_not_be_written_is_refused_before_anything_is_measured(tmp_path, where):
    with pytest.raises(UsageProblem, match=f"^--{next(iter(where))}"):
        evaluate(
            tmp_path / "no data is looked for",
            **{name: tmp_path / path for name, path in where.items()},
        )
