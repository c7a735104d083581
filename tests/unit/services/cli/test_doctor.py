"""The doctor looks again before it reports: what a running service commits between its reads is no
finding."""

import pytest

from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.cli.access import with_engine
from services.cli.operator import doctor
from services.cli.operator.doctor import Finding, find_lasting, look_again
from services.config.settings import Settings


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(doctor, "PAUSE_SECONDS", 0.0)


def make_look(*answers):
    """A look that finds these, one after another; the last one for good."""
    left = list(answers)

    async def look():
        return left.pop(0) if len(left) > 1 else left[0]

    return look


@pytest.mark.parametrize(
    ("answers", "lasting"),
    [
        ([[]], []),
        ([["client 2: version 7"], []], []),
        ([["the log lacks 1 of its entries"], ["interaction 3"], ["interaction 4"]], []),
        ([["interaction 3", "a gap"], ["a gap", "interaction 5"]], ["a gap"]),
        ([["a gap"]], ["a gap"]),
    ],
)
async def test_a_problem_of_stored_data_is_one_that_every_look_finds(answers, lasting):
    assert await find_lasting(make_look(*answers)) == lasting


async def test_other_checks_look_again_too():
    short, sound = Finding("disk", "1 MiB free"), Finding("disk", "")
    assert await look_again(make_look(short, sound)) == sound
    assert await look_again(make_look(short, short, sound)) == sound
    assert await look_again(make_look(short)) == short


def test_a_command_says_that_it_compiles_kernels_first(tmp_path, monkeypatch, capsys):
    """After an update `doctor` was silent for minutes."""
    monkeypatch.setattr("services.runtime.kernel_cache._mark", lambda *_: tmp_path / "mark")

    async def look(engine):
        return engine.applied_through

    settings = Settings(
        database=tmp_path / "graph.db",
        workflow=WorkflowSettings(
            session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2
        ),
    )
    assert with_engine(settings, look, create=True) == 0
    assert "compiling kernels, once" in capsys.readouterr().err
