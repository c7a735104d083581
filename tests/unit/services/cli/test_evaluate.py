"""`evaluate` says before it measures what it will not do."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from propagation.evaluation.reports.results_reader import read_slices
from propagation.model import InvalidInput
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


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"results": Path("targets.parquet")}, r"^--results targets.parquet: .*\.csv, \.npz"),
        ({"candidates": True}, "give --protocol leave-one-out"),
        ({"vary": "k=2,4", "results": Path("targets.csv")}, "cannot be used with --vary"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_measured(tmp_path, how, reason):
    with pytest.raises(UsageProblem, match=reason):
        evaluate(tmp_path / "no data is looked for", **how)


USERS, ITEMS, EACH = 12, 40, 8


@pytest.fixture
def folder(tmp_path):
    """No times, one item in two has a text, and each user has fixed candidates."""
    data = tmp_path / "small"
    data.mkdir()
    events = [
        f"u{user}\ti{(user * 3 + turn * 5) % ITEMS}"
        for user in range(USERS)
        for turn in range(EACH)
    ]
    (data / "small.inter").write_text("\n".join(["user_id:token\titem_id:token", *events]) + "\n")
    items = [f"i{item}\t{'Record' if item % 2 else ''}" for item in range(ITEMS + 10)]
    (data / "small.item").write_text("\n".join(["item_id:token\ttitle:token_seq", *items]) + "\n")
    lists = [f"u{user}\t" + " ".join(f"i{item}" for item in range(20, 60)) for user in range(USERS)]
    (data / "small.candidates").write_text(
        "\n".join(["user_id:token\titem_id_list:token_seq", *lists]) + "\n"
    )
    return data


QUICK = {"seeds": 1, "assignments": ["session.k=4", "taste.k=4"]}


def test_what_the_loader_remarked_stands_in_the_report(folder, capsys):
    evaluate(folder, **QUICK)
    said = capsys.readouterr()
    for remark in (
        "small.inter has no time field",
        "Items without text: 25 of 50.",
        "Items without events: 10 of 50.",
        "100% of the events have the same time as another event of their user",
        "The fixed candidates in small.candidates are not used",
    ):
        assert remark in " ".join(said.out.split())
        assert remark in said.err, "said before it is measured"
    assert "takes later" in said.out


def test_each_table_fits_a_hundred_columns(folder, monkeypatch, capsys):
    monkeypatch.setattr("services.runtime.console.PIPED_WIDTH", 100)
    for protocol in ("prequential", "leave-one-out"):
        evaluate(folder, protocol, candidates=protocol == "leave-one-out", **QUICK)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 100
        assert sum(line.startswith(" live: and adoption ") for line in lines) == (
            1 if protocol == "prequential" else 4
        ), "no label and no heading is broken"


def test_a_catalogue_alone_is_refused_before_kernels_are_compiled(folder, monkeypatch, capsys):
    (folder / "small.inter").write_text("user_id:token\titem_id:token\n")
    (folder / "small.candidates").unlink(missing_ok=True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "kernels"))
    for how in ({}, {"protocol": "leave-one-out"}, {"vary": "buffer=1,2"}):
        with pytest.raises(InvalidInput, match="0 events; an evaluation needs"):
            evaluate(folder, **how)
        assert "compiling" not in capsys.readouterr().err


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_results_have_a_row_for_each_target_from_which_the_figures_follow(folder, tmp_path, capsys):
    files = [tmp_path / "targets.csv", tmp_path / "targets.npz"]
    for file in files:
        evaluate(
            folder,
            results=file,
            save=tmp_path / "report.json",
            json=True,
            **{**QUICK, "seeds": 3},
        )
    report = json.loads((tmp_path / "report.json").read_text())
    rows, columns = read_csv(files[0]), np.load(files[1])
    assert list(rows[0]) == list(columns)
    for name in columns:
        assert [row[name] for row in rows] == [str(value) for value in columns[name].tolist()]
    assert len({(row["seed"], row["user"], row["item"]) for row in rows}) == len(rows)
    assert all(0 <= int(row["event"]) < USERS * EACH for row in rows)
    reported = [
        row for row in rows if int(row["seed"]) == report["seed"] and int(row["history"]) > 0
    ]
    assert len(reported) == report["ranked"]
    for arm in report["arms"]:
        for measure in ("n10", "hr1", "n10_matched", "n10_of_100"):
            values = [float(row[f"{arm['name']}.{measure}"]) for row in reported]
            assert np.nanmean(values) == pytest.approx(arm[measure]), "all figures are of one pass"
    levels = {
        seed: np.mean(
            [
                float(row["offk_adoption.n10"])
                for row in rows
                if row["seed"] == seed and int(row["history"]) > 0
            ]
        )
        for seed in "123"
    }
    assert sorted(levels.values())[1] == levels[str(report["seed"])], "it is the median pass"


@pytest.mark.parametrize("protocol", ["prequential", "leave-one-out"])
def test_a_file_of_results_has_the_slices_of_the_report(folder, tmp_path, capsys, protocol):
    files = [tmp_path / "targets.csv", tmp_path / "targets.npz"]
    for file in files:
        evaluate(folder, protocol, results=file, json=True, **{**QUICK, "seeds": 3})
        report = json.loads(capsys.readouterr().out)
        found = read_slices(file)
        assert found.seed == report["seed"]
        slices = report["slices"] if protocol == "prequential" else report["known"][0]["slices"]
        assert sum(part["events"] for part in slices) > 0
        for ours, part in zip(found.slices, slices, strict=True):
            kept = ours.model_dump()
            for name in ("of", "least", "most", "events", "knn", "offk", "offk_adoption"):
                assert kept[name] == pytest.approx(part[name]), name
            for name in ("over_knn", "gain_live"):
                assert kept[name] == (part[name] and pytest.approx(part[name])), name


def test_negatives_without_the_future(folder, tmp_path, capsys):
    evaluate(folder, exclude_future=True, results=tmp_path / "targets.csv", report_from=0, **QUICK)
    assert "No negative" in capsys.readouterr().out, "it says how negatives were drawn"
    rows = read_csv(tmp_path / "targets.csv")
    assert {int(row["negatives"]) for row in rows} == {ITEMS + 10 - EACH}
    worst = max(float(row["minus_popularity.rank"]) for row in rows)
    assert worst <= ITEMS + 10 - EACH + 1


def test_fixed_candidates_are_used_on_request(folder, capsys):
    evaluate(folder, "leave-one-out", candidates=True, **QUICK)
    said = " ".join(capsys.readouterr().out.split())
    remark = said.partition("Fixed candidates: ")[2].partition(".")[0]
    assert re.findall(r"\d+", remark) == ["360", "12", "12", "120"], "candidates, users, unknown"
    assert "N@10 against the fixed candidates" in said


def test_without_a_file_of_candidates_the_request_is_refused(folder):
    (folder / "small.candidates").unlink()
    with pytest.raises(UsageProblem, match=r"has no file \*\.candidates"):
        evaluate(folder, "leave-one-out", candidates=True, **QUICK)
