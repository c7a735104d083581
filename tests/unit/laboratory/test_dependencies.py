"""What results depend on: they are made again when it changes, and reports name it."""

import json
import sys
from dataclasses import replace

import pytest

from propagation.adapters.openai.prompting import Prompt
from propagation.laboratory.agentcf.prompts import (
    advertise,
    choose,
    express,
    learn,
    rank,
    reflect,
    review,
)
from propagation.laboratory.code_version import digest_code, find_commit
from propagation.laboratory.experiments import EXPERIMENTS
from propagation.laboratory.methods import MethodNotInstalled, Random, dependencies
from propagation.laboratory.methods.asking import asks_model
from propagation.laboratory.methods.recnet import ENGINE_VARIANTS
from propagation.laboratory.methods.recnet.point_to_point import model_answers
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.runs import build_report, open_run, plan_run, read_parts, run_methods
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.laboratory import methods as building
from services.laboratory.baselines import LIGHT, TORCH, read_packages
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel
from services.laboratory.page import render_run
from services.laboratory.versions import list_versions
from tests.unit.laboratory.lab_data import build_dataset, build_titled
from tests.unit.laboratory.planted_agentcf import build_agentcf
from tests.unit.laboratory.test_no_future import ASKING
from tests.unit.laboratory.titled_data import build_settings

PROTOCOL = LeaveOneOut()
ENVIRONMENT = """#!{python}
import json, pathlib, sys
if "-c" in sys.argv:
    print(pathlib.Path({versions!r}).read_text())
else:
    import numpy as np
    with open({runs!r}, "a") as file:
        file.write(sys.argv[-3])
    folder = pathlib.Path(sys.argv[-2])
    np.save(folder / "scores.npy", np.zeros(np.load(folder / "questions.npz")["candidates"].shape))
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment of baselines whose packages have made-up versions; it notes each run."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    versions, runs = tmp_path / "versions.json", tmp_path / "runs.txt"
    python.write_text(
        ENVIRONMENT.format(python=sys.executable, versions=str(versions), runs=str(runs))
    )
    python.chmod(0o755)
    runs.touch()
    for one in (LIGHT, TORCH):
        monkeypatch.setenv(one.variable, str(tmp_path / "environment"))

    def install(**packages):
        read_packages.cache_clear()
        versions.write_text(json.dumps(packages))

    yield install, runs
    read_packages.cache_clear()


async def run(folder, methods):
    dataset = build_dataset()
    plan = plan_run("recnet/table2", dataset, PROTOCOL)
    with open_run(folder, plan):
        outcome = await run_methods(folder, dataset, PROTOCOL, methods, [1], lambda *_: None)
    return plan, read_parts(folder), outcome


def build(name):
    (method,) = build_methods([name], build_dataset(), Settings(), check_events)
    return method


async def test_a_baseline_runs_again_when_its_packages_change(tmp_path, environment):
    install, runs = environment
    install(python="3.11.7", rectools="0.19.0", numpy="1.26.4")
    for _ in range(2):
        plan, parts, outcome = await run(tmp_path / "run", [build("ease")])
        assert outcome == ({}, {}, [])
    assert runs.read_text() == "ease"
    report = build_report(EXPERIMENTS["recnet/table2"], plan, parts, None, "ease", {})
    assert report.methods[0].depends_on["rectools"] == "0.19.0"
    page = render_run(report, ())
    assert "python 3.11.7, rectools 0.19.0, numpy 1.26.4" in page
    assert f"preference-propagation {dependencies.release()}" in page
    install(python="3.11.7", rectools="0.20.0", numpy="1.26.4")
    _, parts, outcome = await run(tmp_path / "run", [build("ease")])
    assert outcome.repeated == ["ease"]
    assert runs.read_text() == "easeease"
    assert [part.depends_on["rectools"] for part in parts] == ["0.20.0"]


async def test_an_environment_that_lacks_a_package_is_not_installed(tmp_path, environment):
    install, runs = environment
    install()
    (tmp_path / "versions.json").write_text("no JSON")
    _, parts, outcome = await run(tmp_path / "run", [build("ease")])
    assert not parts
    assert (
        "lacks one of rectools, numpy, scipy; `make baselines` installs" in outcome.absent["ease"]
    )
    assert not runs.read_text()
    with pytest.raises(MethodNotInstalled, match="does not run, or lacks"):
        _ = build("ease").depends_on


@pytest.mark.parametrize("name", ["gru4rec", "caser"])
def test_what_recbole_computes_depends_on_it_and_says_which_python_has_it(
    tmp_path, environment, name
):
    install, _ = environment
    install(python="3.11.7", recbole="1.2.1", torch="2.9.0")
    assert build(name).depends_on["recbole"] == "1.2.1"
    install()
    (tmp_path / "versions.json").write_text("no JSON")
    with pytest.raises(MethodNotInstalled) as raised:
        _ = build(name).depends_on
    folder = tmp_path / "environment"
    assert str(raised.value) == (
        f"{name}: {folder}/bin/python does not run, or lacks one of recbole, torch, numpy, scipy;"
        " `make baselines-torch` installs them with Python 3.11 (another Python has no recbole:"
        f" remove {folder}, and `make PYTHON=python3.11 baselines-torch`), or leave the method out"
        " of --methods"
    )


@pytest.mark.parametrize("name", ["random", "pop", "recnet-numbers"])
async def test_every_method_runs_again_with_another_version_of_the_service(
    tmp_path, monkeypatch, name
):
    _, _, first = await run(tmp_path / "run", [build(name)])
    _, _, again = await run(tmp_path / "run", [build(name)])
    assert first.repeated == again.repeated == []
    monkeypatch.setattr(dependencies, "release", lambda: "9.9.9")
    _, parts, outcome = await run(tmp_path / "run", [build(name)])
    assert outcome.repeated == [name]
    assert [part.depends_on["preference-propagation"] for part in parts] == ["9.9.9"]


async def test_a_method_runs_again_with_other_code_and_the_report_shows_the_code(
    tmp_path, monkeypatch
):
    plan, parts, _ = await run(tmp_path / "run", [build("pop")])
    assert parts[0].depends_on["code"] == digest_code()
    assert parts[0].commit == find_commit()
    page = render_run(
        build_report(EXPERIMENTS["recnet/table2"], plan, parts, None, "pop", list_versions()), ()
    )
    assert page.count(f"code {digest_code()}") == 1, "the method's"
    assert f"<td>{digest_code()}" in page, "of what wrote the page"
    assert find_commit() in page
    monkeypatch.setattr(dependencies, "digest_code", lambda: "another")
    _, parts, outcome = await run(tmp_path / "run", [build("pop")])
    assert outcome.repeated == ["pop"]
    assert [part.depends_on["code"] for part in parts] == ["another"]


def test_numbers_depend_on_what_computes_them(monkeypatch):
    for name in ("recnet", "recnet-paper", "recnet-numbers"):
        before = build(name).depends_on
        assert {"numpy", "numba", "settings"} <= before.keys()
    monkeypatch.setattr(building, "list_own_packages", lambda *names: dict.fromkeys(names, "9"))
    after = build("recnet-numbers").depends_on
    assert after["numba"] == "9" != before["numba"]
    assert after["settings"] == before["settings"]


async def test_ways_from_client_to_client_are_dependencies(monkeypatch):
    """Each way is another setting; with a model, the prompts of the laboratory count, too."""
    ways = [name for name, variant in ENGINE_VARIANTS.items() if variant.way]
    offline = [build(name).depends_on for name in (*ways, "recnet-alone", "recnet-no-opt-router")]
    assert len({one["settings"] for one in offline}) == len(ways) + 2 == 6
    assert not any("prompts" in one for one in offline)
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)

        def build_asking():
            names = [*ways, "recnet-alone"]
            methods = build_methods(names, build_titled(), Settings(), check_events, model)
            return [method.depends_on for method in methods]

        *before, alone = build_asking()
        monkeypatch.setattr(model_answers, "SELECT", "another prompt")
        *after, _ = build_asking()
    assert all(one["model"] == model.reasoner_identity for one in before)
    assert "prompts" not in alone
    for one, other in zip(before, after, strict=True):
        assert {name for name in one if one[name] != other[name]} == {"prompts"}


def test_a_program_of_ones_own_depends_on_its_file_and_python(tmp_path):
    program = tmp_path / "mine.py"
    program.write_text("pass")
    before = build(f"program:{program}").depends_on
    assert before.keys() == {"mine.py", "python"}
    program.write_text("pass  # better")
    assert build(f"program:{program}").depends_on["mine.py"] != before["mine.py"]


async def test_agents_depend_on_the_model_and_on_the_methods_inside(environment):
    install, _ = environment
    install(rectools="0.19.0")
    dataset = build_titled()
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        methods = build_methods(ASKING, dataset, Settings(), check_events, model)
        (around,) = build_methods(["afl(ease)"], dataset, Settings(), check_events, model)
    for method in methods:
        assert asks_model(method)
        assert method.depends_on["model"] == model.identity, method.name
        assert {"prompt", "prompts"} & method.depends_on.keys(), method.name
    assert around.depends_on["ease: rectools"] == "0.19.0"


def test_methods_without_anything_else_depend_on_the_service_only():
    assert [*dependencies.list_dependencies(Random())] == ["preference-propagation", "code"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (module, name)
        for module in (advertise, choose, express, learn, rank, reflect, review)
        for name, value in vars(module).items()
        if isinstance(value, Prompt)
        or (isinstance(value, dict) and isinstance(next(iter(value.values())), Prompt))
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_agentcf_depends_on_each_of_its_prompts(monkeypatch, module, name):
    """Those of the studies, too: one method takes part in all of them."""
    method = build_agentcf(build_titled(), ask=None)
    before = method.depends_on
    value = getattr(module, name)
    if isinstance(value, Prompt):
        monkeypatch.setattr(module, name, replace(value, instructions="Say anything."))
    else:
        last = [*value][-1]
        monkeypatch.setitem(value, last, replace(value[last], instructions="Say anything."))
    assert method.depends_on != before
