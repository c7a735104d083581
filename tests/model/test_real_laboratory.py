"""One small experiment of each paper with a real model.

Nothing here asks whether the model is clever: figures are in their range, and what it did not
answer usably is counted.
"""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from propagation.laboratory.runs import read_parts
from services.cli.app import app
from tests.model.model_server import CONTEXT_TOKENS, SLOTS

pytestmark = [pytest.mark.model, pytest.mark.timeout(1_800)]

USERS, ITEMS = 10, 24
STYLES = ("jazz", "folk", "reggae", "opera")
# At most 10, 30 and 30 calls: each takes more than a second of both cores.
EXPERIMENTS = {
    "recnet/table2": ["pop", "llmrank"],
    "agentcf/overall": ["pop", "agentcf-no-interaction"],
    "afl/table4": ["pop", "rec(pop)", "afl2(pop)"],
}


@pytest.fixture
def folder(tmp_path):
    """Ten users with two events each: as few as the experiments take."""
    data = tmp_path / "records"
    data.mkdir()
    items = [
        {
            "kind": "item",
            "id": f"i{number}",
            "title": f"Record {number}",
            "categories": [STYLES[number % 4]],
        }
        for number in range(ITEMS)
    ]
    events = [
        {"user_id": f"u{user}", "item_id": f"i{(5 * user + 4 * step) % ITEMS}", "time": time}
        for step in range(2)
        for user in range(USERS)
        for time in [1_000_000 + step * USERS + user]
    ]
    (data / "clients.jsonl").write_text("\n".join(map(json.dumps, items)))
    (data / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    return data


def run_lab(*arguments):
    done = CliRunner().invoke(app, ["lab", *map(str, arguments)])
    assert done.exit_code in (0, 1), done.stderr
    return done


@pytest.mark.parametrize("experiment", EXPERIMENTS)
async def test_an_experiment_of_each_paper_with_a_real_model(tmp_path, folder, model, experiment):
    methods, run = EXPERIMENTS[experiment], tmp_path / "run"
    command = ["run", experiment, "--data", folder, "--run", run, "--seeds", 1, "--yes", "--json"]
    command += ["--methods", ",".join(methods), "--model", "smollm2"]
    for setting in (
        f"openai.base_url={model.base_url}",
        f"openai.context_tokens={CONTEXT_TOKENS}",
        f"openai.in_flight={SLOTS}",
        "openai.timeout=120",
    ):
        command += ["--set", setting]
    done = await asyncio.to_thread(run_lab, *command)
    found = json.loads(done.stdout)
    figures = {one["method"]: one for one in found["methods"]}
    # A model that answers nothing usable is said to be of no use: that is an outcome, too.
    assert figures.keys() | found["failed"].keys() == set(methods)
    assert not figures.keys() & found["failed"].keys()
    assert all("is usable" in reason for reason in found["failed"].values()), found["failed"]
    assert (run / "answers.db").exists()
    parts = {part.method: part for part in read_parts(run)}
    assert parts.keys() == figures.keys()
    for method, part in parts.items():
        invalid, hits = part.values["invalid"], part.values[measure_of(experiment)]
        print(experiment, method, f"{part.seconds:.0f} s, {invalid.mean():.2f} invalid")
        assert len(part.target) == USERS
        assert ((invalid >= 0) & (invalid <= 1)).all()
        assert ((hits >= 0) & (hits <= 1)).all()
        assert not hits[invalid == 1].any(), "an invalid answer is never replaced"
        assert method != "pop" or not invalid.any()
    again = await asyncio.to_thread(run_lab, *command)
    assert json.loads(again.stdout)["methods"] == found["methods"]
    await asyncio.to_thread(run_lab, "report", run)
    assert all((run / name).stat().st_size for name in ("report.html", "report.json"))


def measure_of(experiment):
    return "random_hit_4" if experiment.startswith("afl") else "n10"
