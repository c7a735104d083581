"""A full disk and a damaged file of answers: one sentence each, and nothing kept is paid twice."""

import asyncio
import resource

import pytest

from propagation.errors import PropagationError
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty
from propagation.laboratory.runs import (
    open_run,
    plan_run,
    read_parts,
    run_methods,
)
from services.fake_llm.planted import PlantedAnswers
from services.laboratory.answers.kept_replies import BEGUN_A_SLOT
from services.laboratory.model import LabModel
from tests.unit.laboratory.titled_data import (
    build_asking,
    build_settings,
    build_titled_dataset,
    find_right_items,
    planted_server,
    run_planted,
)

DATASET = build_titled_dataset(users=40, items=60, each=6)
PROTOCOL = OneOfTwenty()
PLANTED = PlantedAnswers(find_right_items(DATASET, PROTOCOL), knows=0.5)
IN_FLIGHT = 2


def count(server):
    return sum(number for name, number in server.seen.calls.items() if name != "probe")


class SmallFiles:
    """No file of this process may be larger: to SQLite, that is a full disk."""

    def __init__(self, most):
        self._most, self._before = most, resource.getrlimit(resource.RLIMIT_FSIZE)

    def __enter__(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._most, self._before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


async def test_a_full_disk_ends_asking_and_keeps_what_was_answered_before(tmp_path):
    folder = tmp_path / "run"
    async with planted_server(PLANTED) as server:
        model = LabModel(build_settings(server, in_flight=IN_FLIGHT), patience=0.0)
        methods = build_asking(["rec(pop)", "pop"], DATASET, model)
        with open_run(folder, plan_run("afl/test", DATASET, PROTOCOL)):
            async with model.open(folder):
                used = max(path.stat().st_size for path in folder.glob("answers.db*"))
                with SmallFiles(used + 150_000):
                    outcome = await run_methods(
                        folder, DATASET, PROTOCOL, methods, [1], lambda *_: None
                    )
        assert [part.method for part in read_parts(folder)] == ["pop"], "the others run"
        sentence = outcome.failed["rec(pop)"]
        assert "no more is asked, as answers cannot be kept in the run's folder" in sentence
        assert "free space, then try again" in sentence
        assert "\n" not in sentence
        paid = count(server)
        assert IN_FLIGHT < paid < 40, "some answers were kept, and the rest was not asked"
        parts, outcome = await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)"], server)
        assert outcome.failed == {}
        assert len(parts[0].target) == 40
        lost = count(server) - 40
        assert lost <= BEGUN_A_SLOT * IN_FLIGHT, "what was begun finds no room, and no more"


async def test_results_that_find_no_room_are_a_sentence(tmp_path):
    folder = tmp_path / "run"
    with (
        open_run(folder, plan_run("afl/test", DATASET, PROTOCOL)),
        SmallFiles(100),
        pytest.raises(PropagationError, match=r"npz cannot be written \(.*\); make room or name"),
    ):
        await run_methods(folder, DATASET, PROTOCOL, [], [1], lambda *_: None)
    assert not list(folder.glob("*.npz*"))


@pytest.mark.parametrize("start", [0, 5_000])
async def test_a_damaged_file_of_answers_is_a_sentence_that_says_what_to_do(tmp_path, start):
    folder = tmp_path / "run"
    async with planted_server(PLANTED) as server:
        await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)"], server)
        answers = folder / "answers.db"
        content = bytearray(answers.read_bytes())
        content[start : start + 40_000] = b"x" * 40_000
        await asyncio.to_thread(answers.write_bytes, content)
        with pytest.raises(PropagationError, match=r"answers\.db is damaged; move it away, and"):
            await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)", "afl(pop)"], server)
        with pytest.raises(PropagationError, match=r"answers\.db is damaged; move it away, and"):
            await LabModel(build_settings(server)).read_pace(folder)
        calls = count(server)
        await asyncio.to_thread(answers.rename, tmp_path / "away.db")
        _, outcome = await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)"], server)
        assert outcome == ({}, {}, [])
        assert count(server) == calls, "what has a result is not asked again"


def test_a_run_that_cannot_begin_is_a_sentence(tmp_path):
    plan = plan_run("afl/test", DATASET, PROTOCOL)
    with (
        SmallFiles(10),
        pytest.raises(PropagationError, match=r"run\.json cannot be written \(.*\); make room or"),
        open_run(tmp_path / "run", plan),
    ):
        pass
    with open_run(tmp_path / "run", plan):
        pass
    (tmp_path / "letter").touch()
    with (
        pytest.raises(PropagationError, match=r"letter/run cannot be written \(Not a directory\)"),
        open_run(tmp_path / "letter" / "run", plan),
    ):
        pass
