"""`propagation lab`, as it is typed."""

import asyncio
import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from propagation.errors import PropagationError
from propagation.laboratory.experiments import EXPERIMENTS
from propagation.laboratory.methods.recnet import NUMBERS_VARIANTS
from services.cli.app import app
from services.client.errors import UsageProblem
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from tests.unit.laboratory.lab_data import EACH, ITEMS, USERS, build_dataset
from tests.unit.laboratory.titled_data import write_titled_dataset

DOCS = Path(__file__).parents[4] / "docs" / "laboratory.md"


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "halves"
    data.mkdir()
    items = [{"kind": "item", "id": f"i{n}", "title": f"Record {n}"} for n in range(ITEMS)]
    (data / "clients.jsonl").write_text("\n".join(map(json.dumps, items)))
    lines = [
        json.dumps(
            {"user_id": event.user_id, "item_id": event.item_id, "time": event.time // 1_000}
        )
        for event in build_dataset().events
    ]
    (data / "events.jsonl").write_text("\n".join(lines))
    return data


def run_lab(*arguments):
    """What a command printed on stdout and on stderr."""
    done = CliRunner().invoke(app, ["lab", *map(str, arguments)], catch_exceptions=False)
    return done.stdout, done.stderr


def test_the_list_says_what_is_built():
    listed = json.loads(run_lab("list", "--json")[0])
    built = {one["name"]: one["built"] for one in listed}
    assert built["recnet/table2"]
    assert built["afl/table4"]
    assert built["agentcf/spread"]
    assert built["afl/table6"]
    assert built["ours/prequential"]
    assert "not built yet" not in run_lab("list")[0]


BASELINES = ("make baselines", "make baselines-torch")


def test_the_list_says_what_experiments_need_and_cost():
    listed = {one["name"]: one for one in json.loads(run_lab("list", "--json")[0])}
    assert listed["recnet/table3"]["needs"] == ["times", "a model for more, if you name one"]
    # Eight variants rank each target with one call, and learn from an event with two or more.
    table3 = listed["recnet/table3"]["calls"]
    asking = [name for name in listed["recnet/table3"]["methods"] if name not in NUMBERS_VARIANTS]
    assert table3["a_target"] == pytest.approx(len(asking), abs=0.05)
    assert table3["an_event"] > 2 * len(asking)
    assert listed["recnet/figure6"]["calls"] == {"a_target": 0, "an_event": 0, "an_item": 0}
    # Six agents alone and six loops: one call, and at most seven.
    table4 = listed["afl/table4"]
    assert table4["calls"] == {"a_target": 6 * (1 + 7), "an_event": 0, "an_item": 0}
    assert table4["needs"] == ["times", "titles", "a model for 12 of 19", *BASELINES]
    # Each variant learns from an event with at most six calls, and ranks with one.
    ablations = listed["agentcf/ablations"]
    assert ablations["calls"]["a_target"] == len(ablations["methods"])
    assert ablations["calls"]["an_event"] > 6
    assert ablations["needs"] == ["times", "titles", "a model"]
    assert "48 a target" in run_lab("list")[0]


def test_the_list_says_what_comparing_models_costs():
    """RecNet, AgentCF and LLMRank: each is asked by itself, and each model again."""
    listed = {one["name"]: one for one in json.loads(run_lab("list", "--json")[0])}
    figure4, table2 = listed["recnet/figure4"], listed["recnet/table2"]
    assert figure4["with_model"] == ["recnet-paper", "agentcf", "llmrank"]
    assert figure4["calls"]["a_target"] == pytest.approx(3, abs=0.05)
    # A forward and a backward call of RecNet, and at most six of AgentCF.
    assert figure4["calls"]["an_event"] > 2 + 6
    assert figure4["calls"]["an_item"] == 0.1, "RecNet describes ten items in a call"
    assert figure4["for_each_model"]
    assert not table2["for_each_model"]
    assert table2["calls"] == figure4["calls"], "the same methods ask"
    assert "for each model" in " ".join(run_lab("list")[0].split())


def test_a_run_is_a_table_a_json_document_and_a_page(folder, tmp_path):
    run = tmp_path / "run"
    command = ["run", "recnet/table2", "--data", folder, "--run", run, "--methods", "pop,recnet"]
    printed, _ = run_lab(*command, "--seeds", 1)
    assert "less recnet" in printed
    assert "N@10 ± se" in printed
    assert re.search(
        r"^ ?pop +1 +24( +(-|0\.\d{4} ± 0\.\d{4})){5} +-0\.\d{4} ± ", printed, re.MULTILINE
    )
    found = json.loads(run_lab(*command, "--seeds", 1, "--json")[0])
    pop, recnet = found["methods"]
    assert recnet["means"]["n10"] > pop["means"]["n10"]
    assert 0 < pop["errors"]["n10"] < 0.2
    assert pop["against"]["mean"] < 0
    assert recnet["against"] is None
    run_lab("report", run)
    page = (run / "report.html").read_text()
    assert "0.5745" in page, "the paper's figures"
    assert "<script" not in page
    assert f"{pop['means']['n10']:.4f}" in page


def test_every_target_is_a_row_of_one_table(folder, tmp_path):
    run = tmp_path / "run"
    command = ["run", "recnet/table2", "--data", folder, "--run", run, "--methods", "random,pop"]
    run_lab(*command, "--seeds", 2)
    means = json.loads(run_lab(*command, "--seeds", 2, "--json")[0])["methods"][1]["means"]
    run_lab("export", run)
    with (run / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * USERS
    assert [*rows[0]][:6] == ["method", "seed", "user", "item", "history", "adopters"]
    pop = [row for row in rows if row["method"] == "pop"]
    assert {row["seed"] for row in pop} == {"1", "2"}
    assert np.mean([float(row["n10"]) for row in pop]) == pytest.approx(means["n10"])
    last = {event.user_id: event.item_id for event in build_dataset().events}
    assert {row["user"]: row["item"] for row in pop} == last
    assert {row["history"] for row in rows} == {str(EACH - 1)}
    run_lab("export", run, "-o", tmp_path / "results.npz")
    with np.load(tmp_path / "results.npz", allow_pickle=False) as columns:
        assert columns["method"].tolist() == [row["method"] for row in rows]
        assert columns["n10"].tolist() == [float(row["n10"]) for row in rows]
    run_lab("report", run)  # a table in the folder of a run is in nobody's way
    run_lab(*command, "--seeds", 2)


def test_what_cannot_be_exported_is_refused_in_one_sentence(folder, tmp_path):
    run = tmp_path / "run"
    run_lab("run", "recnet/table2", "--data", folder, "--run", run, "--methods", "pop")
    with pytest.raises(UsageProblem, match=r"ends in \.parquet; give one of \.csv, \.npz"):
        run_lab("export", run, "-o", tmp_path / "results.parquet")
    with pytest.raises(PropagationError, match="holds no run of the laboratory"):
        run_lab("export", tmp_path)
    for path in run.glob("pop-*.npz"):
        path.unlink()
    with pytest.raises(PropagationError, match="the run has no results yet"):
        run_lab("export", run)


def test_fixed_candidates_are_taken_or_named(folder, tmp_path):
    command = ["run", "recnet/table2", "--data", folder, "--methods", "pop", "--seeds", 1]
    with pytest.raises(UsageProblem, match=r"has no file \*\.candidates"):
        run_lab(*command, "--run", tmp_path / "none", "--candidates")
    lines = [f"u{user}\t{' '.join(f'i{item}' for item in range(ITEMS))}" for user in range(USERS)]
    text = "\n".join(["user_id:token\titem_id_list:token_seq", *lines])
    (folder / "halves.candidates").write_text(text)
    free, said = run_lab(*command, "--run", tmp_path / "free")
    assert "The fixed candidates in halves.candidates are not used; --candidates takes" in said
    taken, said = run_lab(*command, "--run", tmp_path / "taken", "--candidates")
    assert "not used" not in said
    assert "Other items are drawn among the candidates of halves.candidates" in " ".join(
        taken.split()
    )
    row = re.compile(r"pop +1 +24 .*")
    assert row.search(free)[0] == row.search(taken)[0], "the file names all items"
    with pytest.raises(PropagationError, match="holds another run: it differs in notes"):
        run_lab(*command, "--run", tmp_path / "free", "--candidates")
    with pytest.raises(UsageProblem, match="agentcf/spread takes no candidates from a file"):
        run_lab("run", "agentcf/spread", "--data", folder, "--candidates", "--model", "m")


def test_a_method_that_is_not_installed_is_named_and_the_others_run(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("BASELINES_ENVIRONMENT", str(tmp_path / "nowhere"))
    printed, said = run_lab(
        *["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"],
        *["--methods", "ease,random", "--seeds", 1],
    )
    assert "ease: not installed" in said
    assert "`make baselines`" in said
    assert re.search(r"random +1 +24 +-? *", printed)
    assert re.search(r"ease +not installed +- ", printed)


@pytest.mark.parametrize("experiment", ["afl/table6", "afl/figure4b"])
async def test_rows_of_sasrec_are_not_installed_without_its_environment(
    tmp_path, monkeypatch, experiment
):
    folder = write_titled_dataset(tmp_path / "titled", users=15, items=60, each=24)
    names = [name for name in EXPERIMENTS[experiment].methods if "sasrec" in name]
    assert len(names) >= 5
    assert EXPERIMENTS[experiment].missing == ()
    monkeypatch.setenv("BASELINES_TORCH_ENVIRONMENT", str(tmp_path / "nowhere"))
    async with fake_llm(Script()) as server:
        printed, said = await asyncio.to_thread(
            run_lab,
            *["run", experiment, "--data", folder, "--run", tmp_path / "run", "--seeds", 1],
            *["--methods", ",".join([*names, "pop"]), "--yes", "--model", "scripted"],
            *["--set", f"openai.base_url={server.base_url}"],
        )
    assert "`make baselines-torch` installs it" in said
    for name in names:
        assert re.search(rf"^ ?{re.escape(name)} +not installed +-", printed, re.MULTILINE)
    assert re.search(r"^ ?pop +1 +15 ", printed, re.MULTILINE)


def test_an_odd_time_does_not_order_events(folder, tmp_path):
    """One event of all has another time."""
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for line in lines:
        line["time"] = 1_000
    lines[5]["time"] = 2_000
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, lines)))
    command = ["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"]
    command += ["--methods", "pop", "--seeds", 1]
    said = r"halves has no times that order its events \(143 of 144 events have one and the same"
    with pytest.raises(PropagationError, match=said):
        run_lab(*command)
    printed = " ".join(run_lab(*command, "--without-times")[0].split())
    assert "The order of the events is made up" in printed
    assert "The times do not order the events: 143 of 144 events have one and" in printed


@pytest.mark.parametrize("after", ["0.99", "0.95"])
def test_a_share_that_leaves_too_little_says_what_to_set(folder, tmp_path, after):
    command = ["run", "ours/prequential", "--data", folder, "--run", tmp_path / "run"]
    said = rf"\(--after {after}\), halves has \d targets? of \d users?, .*: set --after to 0\.93 or"
    with pytest.raises(PropagationError, match=said):
        run_lab(*command, "--methods", "pop", "--after", after)
    assert not (tmp_path / "run").exists()
    run_lab(*command, "--methods", "pop", "--after", "0.93", "--seeds", 1)


def test_the_program_in_the_docs_is_a_method(folder, tmp_path):
    program = tmp_path / "follow.py"
    program.write_text(re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)[1])
    printed, _ = run_lab(
        *["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"],
        *["--methods", f"random,program:{program}", "--seeds", 2],
    )
    assert re.search(r"follow +2 +24 ", printed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "recnet/table9"], "not an experiment; choose among recnet/table2"),
        (["run", "recnet/table2", "--refits", "3"], "recnet/table2 takes none; leave them out"),
        (["run", "afl/table7"], "afl/table7 needs a language model: name one with --model NAME"),
        (
            ["run", "recnet/table2", "--methods", "llmrank"],
            "llmrank asks a language model: name one with --model NAME",
        ),
        (
            ["run", "recnet/table2", "--model", "m", "--reasoner", "offline"],
            "--model names a language model and --reasoner is offline",
        ),
        (
            ["run", "afl/table4", "--model", "m", "--methods", "afl(magic)"],
            "'magic' is not a method",
        ),
        (
            ["run", "afl/table4", "--model", "m", "--methods", "rec(llmrank)"],
            "llmrank has no scores",
        ),
        (
            ["run", "afl/table4", "--model", "m", "--methods", "afl(pop),afl(pop+pop)"],
            "two methods are called 'afl(pop)'",
        ),
        (
            ["run", "recnet/table2", "--model", "m", "--methods", "llmrank"],
            "m would be asked, and there is no terminal to ask you on; add --yes",
        ),
        (["run", "recnet/table2", "--methods", "magic"], "'magic' is not a method"),
        (
            ["run", "recnet/table2", "--methods", "pop,random", "--against", "magic"],
            "--against: 'magic' is none of the methods; choose among pop, random",
        ),
        (["run", "recnet/table2", "--methods", "pop,pop"], "two methods are called 'pop'"),
        (["run", "recnet/table2", "--methods", ""], "'' is not a method"),
        (["run", "recnet/table2", "--methods", "program:nowhere.py"], "'nowhere.py' is no file"),
        (["run", "recnet/table2", "--set", "embedder=openai"], "recnet asks no model here"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(folder, tmp_path, arguments, said):
    with pytest.raises(UsageProblem, match=re.escape(said)):
        run_lab(*arguments, "--data", folder, "--run", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["rec(pop)", "recnet-paper", "agentcf"])
def test_a_folder_without_titles_is_refused_for_a_model(folder, tmp_path, name):
    (folder / "clients.jsonl").unlink()
    command = ["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run", "--model", "m"]
    with pytest.raises(PropagationError, match="have no title, and"):
        run_lab(*command, "--methods", name, "--yes")


def test_methods_that_ask_are_left_out_and_named_without_a_model(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("BASELINES_ENVIRONMENT", str(tmp_path / "nowhere"))
    command = ["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run", "--seeds", 1]
    printed, said = run_lab(*command, "--reasoner", "offline")
    assert "none is named (--model): llmrank, agentcf." in said
    assert not re.search(r"^recnet-paper +\d", printed, re.MULTILINE), "only with a model"
    assert "recnet-off" in printed
    assert "llmrank" not in printed


async def test_a_run_with_a_model_prints_its_costs_first(folder, tmp_path):
    async with fake_llm(Script()) as server:
        printed, said = await asyncio.to_thread(
            run_lab,
            *["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"],
            *["--methods", "pop,llmrank,recnet", "--seeds", 1, "--yes"],
            *["--model", "scripted", "--set", f"openai.base_url={server.base_url}"],
        )
        assert server.seen.calls["llmrank"] == 24
    assert "llmrank: about 24 calls," in said
    assert re.search(r"llmrank +1 +24 +- +0\.0000 ± 0\.0000 ", printed)


async def test_figure_4_has_a_row_for_each_model_also_of_earlier_runs(folder, tmp_path):
    async with fake_llm(Script()) as server:
        command = ["run", "recnet/figure4", "--data", folder, "--run", tmp_path / "run"]
        command += ["--methods", "pop,llmrank", "--seeds", 1, "--yes"]
        command += ["--set", f"openai.base_url={server.base_url}"]
        _, said = await asyncio.to_thread(run_lab, *command, "--model", "a/1,b")
        assert said.count("llmrank@a_1: about 24 calls") == 1
        assert said.count("llmrank@b: about 24 calls") == 1
        assert server.seen.calls["llmrank"] == 48
        printed, _ = await asyncio.to_thread(run_lab, *command, "--model", "c")
        assert server.seen.calls["llmrank"] == 72
    rows = re.findall(r"(llmrank@\w+|pop) +1 +24 ", printed)
    assert rows == ["llmrank@a_1", "llmrank@b", "llmrank@c", "pop"]


def test_only_figure_4_takes_several_models(folder, tmp_path):
    command = ["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"]
    with pytest.raises(UsageProblem, match="takes one model"):
        run_lab(*command, "--model", "a,b")


def test_a_no_at_the_terminal_asks_nothing(folder, tmp_path, monkeypatch):
    command = ["lab", "run", "recnet/table2", "--data", folder, "--run", tmp_path / "run"]
    command += [
        "--methods",
        "llmrank",
        "--model",
        "m",
        "--set",
        "openai.base_url=http://[::1]:9/v1",
    ]
    monkeypatch.setattr("services.cli.research.lab.estimate.has_terminal", lambda: True)
    done = CliRunner().invoke(app, [*map(str, command)], input="n\n")
    assert "Go on?" in done.stderr
    assert done.exit_code == 1
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_has_no_report(tmp_path):
    with pytest.raises(PropagationError, match="holds no run of the laboratory"):
        run_lab("report", tmp_path)


def test_a_program_that_fails_ends_with_an_error_behind_the_table(folder, tmp_path):
    program = tmp_path / "bad.py"
    program.write_text("raise SystemExit('no luck')")
    command = ["run", "recnet/table2", "--data", folder, "--run", tmp_path / "run", "--json"]
    command += ["--methods", f"program:{program},pop", "--seeds", 1]
    done = CliRunner().invoke(app, ["lab", *map(str, command)])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["failed"] == {"bad": "bad: the program ended with 1: no luck"}
    assert [one["method"] for one in found["methods"]] == ["pop"]


@pytest.mark.slow
def test_figures_of_the_numbers_are_those_of_propagation_evaluate(folder, tmp_path):
    """Both commands as they are typed; no two events have one time."""
    run = tmp_path / "run"
    command = ["run", "ours/prequential", "--data", folder, "--run", run, "--seeds", 1, "--json"]
    names = "recnet-numbers,recnet-no-propagation,pop"
    found = {
        one["method"]: one
        for one in json.loads(run_lab(*command, "--methods", names)[0])["methods"]
    }
    done = CliRunner().invoke(
        app, ["evaluate", str(folder), "--seeds", "1", "--json"], catch_exceptions=False
    )
    report = json.loads(done.stdout)
    arms = {arm["name"]: arm for arm in report["arms"]}
    for name, arm in {"recnet-numbers": "offk_adoption", "recnet-no-propagation": "offk"}.items():
        assert found[name]["targets"] == report["ranked"]
        assert found[name]["means"]["n10"] == pytest.approx(arms[arm]["n10"])
        assert found[name]["means"]["n1"] == pytest.approx(arms[arm]["hr1"])
    against = json.loads(
        run_lab(*command, "--methods", names, "--against", "recnet-no-propagation")[0]
    )["methods"][0]["against"]
    expected = arms["offk_adoption"]["against_offk"]
    for field in ("mean", "standard_error", "t"):
        assert against[field] == pytest.approx(expected[field]), "paired by user in both"


def test_moments_can_be_chosen_and_are_another_run(folder, tmp_path):
    run = tmp_path / "run"
    command = ["run", "ours/prequential", "--data", folder, "--run", run, "--methods", "random"]
    printed, _ = run_lab(*command, "--seeds", 1, "--after", 0.5, "--refits", 3)
    said = " ".join(printed.split())
    assert "Each event after the first 50% is ranked" in said
    assert "others are fitted 3 times" in said
    with pytest.raises(PropagationError, match="holds another run: it differs in described"):
        run_lab(*command, "--seeds", 1)
    run_lab("report", run)
    assert "Each event after the first 50% is ranked" in (run / "report.html").read_text()


@pytest.fixture(params=["lines", "table"])
def untimed(folder, request):
    """The same data without times, as JSON Lines or as a table."""
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    if request.param == "lines":
        for line in lines:
            del line["time"]
        (folder / "events.jsonl").write_text("\n".join(map(json.dumps, lines)))
        return folder
    for path in folder.iterdir():
        path.unlink()
    rows = ["user_id:token\titem_id:token", *(f"{o['user_id']}\t{o['item_id']}" for o in lines)]
    (folder / "halves.inter").write_text("\n".join(rows))
    return folder


@pytest.mark.parametrize("experiment", ["recnet/table2", "ours/prequential"])
def test_data_without_times_are_refused_or_the_report_says_it(untimed, tmp_path, experiment):
    run = tmp_path / "run"
    command = ["run", experiment, "--data", untimed, "--run", run, "--methods", "pop"]
    with pytest.raises(
        PropagationError, match=rf"halves has no times.*{experiment} needs.*--without-times"
    ):
        run_lab(*command)
    assert not run.exists()
    printed, _ = run_lab(*command, "--without-times", "--seeds", 1)
    made_up = "The order of the events is made up"
    assert printed.count(made_up) == 1
    assert printed.index(made_up) < printed.index("seeds"), "before the table"
    found = json.loads(run_lab(*command, "--without-times", "--seeds", 1, "--json")[0])
    assert found["order_made_up"] is True
    run_lab("report", run)
    assert made_up in (run / "report.html").read_text()
    assert json.loads((run / "report.json").read_text())["data"]["plan"]["order_made_up"]


def test_recnet_is_described_where_it_is_and_nowhere_else(folder, tmp_path):
    command = ["run", "recnet/figure6", "--data", folder, "--seeds", 1]
    printed, _ = run_lab(*command, "--run", tmp_path / "a", "--methods", "pop,recnet-off,recnet")
    said = " ".join(printed.split())
    assert "recnet-off, recnet: the service as it is by default, without a language model." in said
    printed, _ = run_lab(*command, "--run", tmp_path / "b", "--methods", "pop,random")
    assert "without a language model" not in printed
