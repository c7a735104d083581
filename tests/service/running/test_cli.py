"""Every command as a person runs it, against one real service. What is about processes (starting,
stopping, signals, being the second) is run in one of its own; what is about words and codes through
the same entry point in this one, which has imported everything."""

import gc
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest.mock import patch

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from services import server
from services.cli import main
from services.runtime.interruption import STOP_SIGNALS

COMMAND = [sys.executable, "-m", "services.cli.main"]
STORED = ("users", "items", "recorded_through")
SETTINGS = [
    "--set",
    "taste.k=4",
    "--set",
    "session.k=4",
    "--set",
    "table_edges=2",
    "--set",
    "update_size=1000000",
]


def run_command(*arguments):
    """A finished command: its exit code, stdout and stderr."""
    out, err, thresholds = io.StringIO(), io.StringIO(), gc.get_threshold()
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    with (
        patch.object(sys, "argv", ["propagation", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(server, "configure_logging"),
        patch.object(os, "_exit", sys.exit),
        pytest.raises(SystemExit) as ended,
    ):  # a process has one log: pytest's here
        main.run()
    gc.set_threshold(*thresholds)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return SimpleNamespace(
        returncode=ended.value.code, stdout=out.getvalue(), stderr=err.getvalue()
    )


def run_process(*arguments, **environment):
    """The same of a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


def read_answer(*arguments):
    """The JSON document of a command that must succeed."""
    done = run_command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start_service(*arguments):
    """A service that is ready, and its address."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--auto-create", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = process.stdout.readline()
    assert first.startswith("listening on 127.0.0.1:"), process.stderr.read()
    return process, first.removeprefix("listening on ").strip()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Three users, twenty records, a dozen events."""
    folder = tmp_path_factory.mktemp("small")
    items = [
        {
            "kind": "item",
            "id": f"i{n}",
            "title": f"Record {n}",
            "attributes": ["jazz" if n < 10 else "opera"],
        }
        for n in range(20)
    ]
    events = [
        {"event_id": f"{user}-{n}", "user_id": user, "item_id": f"i{n}", "time": 1_700_000_000 + n}
        for user in ("ann", "bob", "cid")
        for n in range(4)
    ]
    (folder / "clients.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder


@pytest.fixture(scope="module")
def service(dataset, tmp_path_factory):
    database = tmp_path_factory.mktemp("served") / "graph.db"
    process, address = start_service("--database", database, *SETTINGS)
    imported = run_command("import", dataset, "--address", address, "--json")
    yield SimpleNamespace(address=address, database=database, imported=imported, process=process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_import_counts_and_a_second_one_finds_duplicates(service, dataset):
    assert service.imported.returncode == 0, service.imported.stderr
    first = json.loads(service.imported.stdout)
    assert (first["accepted"], first["duplicate"], first["rejected"]) == (12, 0, 0)
    again = read_answer("import", dataset, "--address", service.address)
    assert (again["accepted"], again["duplicate"], again["clients_changed"]) == (0, 12, 0)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("clients.jsonl", {"kind": "item", "id": "x{}"}),
        ("events.jsonl", {"user_id": "x{}", "item_id": "i1"}),
    ],
)
def test_a_line_that_the_service_would_refuse_stops_an_import_before_anything_is_sent(
    service, tmp_path, name, row
):
    rows = [json.dumps(row).replace("{}", str(number)) for number in range(1_200)]
    rows[1_100] = json.dumps({**row, "metadata": {"a": "x" * 9_000}})
    (tmp_path / name).write_text("\n".join(rows))
    before = read_answer("status", "--address", service.address)
    done = run_command("import", tmp_path, "--address", service.address)
    assert (done.returncode, done.stdout) == (3, "")
    [refusal] = done.stderr.splitlines()
    assert refusal.startswith(f"propagation: {name}, line 1101, metadata: ")
    assert "9001 characters" in refusal
    assert refusal.endswith("at most 8000")
    after = read_answer("status", "--address", service.address)
    assert [after[part] for part in STORED] == [before[part] for part in STORED]


def test_the_program_alone_shows_its_help():
    alone, asked = run_process(), run_command("--help")
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, asked.stdout, "")


def test_the_next_release_of_a_dataset_adds_what_is_new(service, dataset, tmp_path):
    clients = (dataset / "clients.jsonl").read_text()
    old = [json.dumps({"user_id": "rel", "item_id": f"i{n}", "time": n}) + "\n" for n in range(3)]
    for events in (old, [json.dumps({"user_id": "rel", "item_id": "i9", "time": 9}) + "\n", *old]):
        (tmp_path / "clients.jsonl").write_text(clients)
        (tmp_path / "events.jsonl").write_text("".join(events))
        counted = read_answer("import", tmp_path, "--address", service.address)
    assert (counted["accepted"], counted["duplicate"], counted["rejected"]) == (1, 3, 0)


def test_profile_in_words_and_as_json(service):
    read_answer("round", "--drain", "--address", service.address)
    profile = read_answer("profile", "user", "ann", "--address", service.address)["profile"]
    assert profile["key"] == {"kind": "CLIENT_KIND_USER", "id": "ann"}
    assert {"text", "author", "sources", "weight"} <= set(profile["lines"][0])
    words = run_command("profile", "user", "ann", "--address", service.address).stdout
    assert "From its own interactions:" in words
    assert "\x1b" not in words


def test_lists_by_page_in_words_and_as_json(service):
    address = ("--address", service.address)
    found = run_command("search", "item", "record 1", "-n", "2", *address)
    assert found.returncode == 0, found.stderr
    assert "Record 1" in found.stdout
    token = found.stdout.partition("There is more: add --page ")[2].strip()
    rest = read_answer("search", "item", "record 1", "--page", token, "-n", "2", *address)
    assert len(rest["clients"]) == 2
    listed = run_command("events", "user", "bob", *address)
    assert [f"bob-{n}" in listed.stdout for n in range(4)] == [True] * 4
    assert read_answer("events", "user", "bob", *address)["events"][0]["retracted"] is False
    run_command("round", "--drain", *address)
    done = run_command("history", "--kind", "round", "--since", "2020-01-01", *address)
    assert "round 1:" in done.stdout
    assert read_answer("history", "--until", "2020-01-01", *address)["operations"] == []
    text = run_command("versions", "user", "bob", "-n", "1", *address)
    assert "an interaction" in text.stdout, text.stderr
    assert "There is more: add --page " in text.stdout
    assert read_answer("versions", "item", "i1", *address)["versions"]
    assert "versions" in read_answer("versions", "router", "0", *address)
    wrong = run_command("versions", "router", "x", *address)
    assert (wrong.returncode, "'x' is no number of a router" in wrong.stderr) == (2, True)
    assert read_answer("dead-letters", "list", *address)["dead_letters"] == []
    assert read_answer("dead-letters", "replay", *address) == {"queued": 0, "unknown": 0}
    assert read_answer("dead-letters", "replay", "3", *address) == {"queued": 0, "unknown": 1}
    settings = read_answer("settings", "--running", *address)["settings"]
    source = next(one for one in settings if one["name"] == "taste.k")["source"]
    assert (source["kind"], source["name"]) == ("SETTING_SOURCE_KIND_FLAG", "--set")
    for of in ("gauge", "spending"):
        shown = run_command("measurements", of, "--by-day", *address)
        assert (shown.returncode, "from (UTC)" in shown.stdout) == (0, True), shown.stderr
    assert set(read_answer("measurements", "gauge", *address)) == {"gauge", "spending"}


def test_foreign_text_in_a_list_cannot_steer_the_terminal(service):
    name = "\u202eevil\u200b-\u061c"
    with grpc.insecure_channel(service.address) as channel:
        request = pb.RecordInteractionsRequest(
            interactions=[pb.Interaction(event_id="f-1", user_id=name, item_id="i1")]
        )
        PropagationServiceStub(channel).RecordInteractions(request)
    address = ("--address", service.address)
    for shown in (
        run_command("search", "user", "evil", *address),
        run_command("events", "item", "i1", *address),
    ):
        assert "\\u202eevil\\u200b" in shown.stdout
        assert "\u202e" not in shown.stdout


def test_a_malformed_time_is_one_line(service):
    done = run_command("history", "--since", "yesterday", "--address", service.address)
    assert done.returncode == 2
    assert "'yesterday' is not a time" in done.stderr


def test_round_says_when_nothing_changed(service):
    read_answer("round", "--drain", "--address", service.address)
    assert read_answer("round", "--address", service.address)["round"] is None


@pytest.mark.slow
def test_watch_goes_on_where_it_was_left(service):
    watching = subprocess.Popen(
        [*COMMAND, "watch", "--kind", "round", "-n", "1", "--json", "--address", service.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    numbers = []
    while watching.poll() is None:
        numbers.append(import_event_and_run_round(service, f"w{len(numbers)}"))
    out, err = watching.communicate(timeout=30)
    assert watching.returncode == 0, err
    first = json.loads(out)
    assert first["round"]["number"] in numbers
    import_event_and_run_round(service, "later")
    done = run_command(
        "watch",
        "--kind",
        "round",
        "-n",
        "1",
        "--resume",
        first["resume_token"],
        "--address",
        service.address,
    )
    assert done.stdout.startswith(f"round {first['round']['number'] + 1}: "), done.stderr
    assert "--resume" in done.stdout


@pytest.mark.slow
def test_watch_says_how_to_go_on_where_it_is_interrupted(service):
    watching = subprocess.Popen(
        [*COMMAND, "watch", "--kind", "round", "--address", service.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    import_event_and_run_round(service, "before-the-watch")
    told, seen = "", 0
    while not told.startswith("round"):
        import_event_and_run_round(service, f"watched{seen}")
        seen += 1
        if select.select([watching.stdout], [], [], 0.2)[0]:
            told = watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    rest, err = watching.communicate(timeout=30)
    assert watching.returncode == 130, err
    assert "propagation watch --resume " in rest.splitlines()[-1]


def test_a_malformed_resume_token_is_not_offered_to_go_on_with(service):
    refused = run_command("watch", "--resume", "foo", "--address", service.address)
    assert refused.returncode != 0
    assert refused.stdout == ""
    assert "resume_token" in refused.stderr


def import_event_and_run_round(service, user):
    """One more event and its round; the round's number."""
    folder = service.database.parent / user
    folder.mkdir()
    (folder / "events.jsonl").write_text(
        json.dumps({"user_id": user, "item_id": "i1", "event_id": user}) + "\n"
    )
    assert run_command("import", folder, "--address", service.address).returncode == 0
    return read_answer("round", "--drain", "--address", service.address)["round"]["number"]


def test_what_the_service_refuses_is_one_line(service):
    done = run_command("profile", "user", "nobody", "--address", service.address)
    assert done.returncode == 6
    [refusal] = done.stderr.splitlines()
    assert refusal.startswith("propagation: user 'nobody' ")


@pytest.mark.slow
def test_a_second_process_is_told_who_holds_the_file(service):
    for started, command in (
        (run_command, ["doctor"]),
        (run_command, ["dead-letters", "list"]),
        (run_process, ["serve", "--port", "0"]),
    ):
        done = started(*command, "--database", service.database)
        assert done.returncode == 5, command
        assert f"process {service.process.pid}" in done.stderr


def test_replay_doctor_and_dead_letters_on_a_file(dataset, tmp_path):
    database = ["--database", tmp_path / "replayed.db", *SETTINGS]
    assert read_answer("replay", dataset, *database)["outcomes"] == {"accepted": 12}
    looked = read_answer("doctor", *database)
    assert looked["sound"] is True
    assert not any(finding["wrong"] for finding in looked["findings"])
    assert read_answer("dead-letters", "list", *database)["dead_letters"] == []
    assert read_answer("dead-letters", "replay", *database) == {"mended": 0, "failed": 0}
    assert read_answer("rebuild", *database)["sequence"] > 0
    assert read_answer("reindex", *database)["points"] > 0


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ({"title": "x" * 8_001}, "clients.jsonl, line 2, title: is 8001 characters long"),
        ({"metadata": {str(n): "" for n in range(65)}}, "metadata: holds 65 entries; at most 64"),
    ],
)
def test_replay_takes_no_more_than_the_service_would(client, says, tmp_path):
    lines = [{"kind": "item", "id": "good"}, {"kind": "item", "id": "bad", **client}]
    (tmp_path / "clients.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_command("replay", tmp_path, "--database", tmp_path / "replayed.db", *SETTINGS)
    assert done.returncode == 3
    assert says in done.stderr
    assert not (tmp_path / "replayed.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["serve", "--port", "70000"], 3, "65535"),
        (["serve", "--port", "x"], 2, "--port"),
        (["serve", "--host", "0.0.0.0", "--database", "never.db"], 3, "--insecure"),
        (["srve"], 2, "serve"),
        (["settings", "--set", "tast.k=3"], 3, "taste.k"),
        (["settings", "--config", "gone.toml"], 3, "gone.toml"),
        (["status", "--address", "127.0.0.1:1"], 4, "propagation serve"),
        (["status", "--address", "nowhere"], 2, "HOST:PORT"),
        (["profile", "robot", "ann"], 2, "not one of 'user', 'item'"),
        (["trace"], 2, "exactly one"),
        (["trace", "--line", "user:ann"], 2, "user:ann#3"),
        (["routers", "--bank", "river"], 2, "not one of 'taste', 'session'"),
        (["watch", "--kind", "river"], 2, "evolution"),
        (
            ["evaluate", ".", "--vary", "k=2,4", "--protocol", "leave-one-out"],
            2,
            "--protocol leave-one-out",
        ),
        (["doctor", "--database", "gone.db"], 2, "gone.db"),
        (["import", "gone"], 3, "gone"),
        (["evaluate", ".", "--save", "."], 2, "is a directory"),
        (["restore", "gone"], 2, "does not exist"),
    ],
)
def test_errors_are_one_line_with_a_code(arguments, code, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_command(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.slow
def test_debug_shows_the_stack_trace():
    done = run_process("status", "--address", "127.0.0.1:1", "--debug")
    assert done.returncode == 4
    assert "Traceback" in done.stderr


def test_settings_say_where_values_come_from(tmp_path):
    shown = read_answer(
        "settings", "--config", _write_settings(tmp_path, "seed = 3"), "--set", "taste.k=9"
    )
    assert shown["taste.k"] == {"value": 9, "source": "flag --set"}
    assert "propagation.toml, line " in shown["seed"]["source"]


def test_a_taken_port_is_one_line(service, tmp_path):
    done = run_process(
        "serve",
        "--port",
        service.address.rsplit(":", 1)[1],
        "--database",
        tmp_path / "other.db",
        *SETTINGS,
    )
    assert done.returncode == 3
    [refusal] = done.stderr.splitlines()
    assert refusal.startswith(f"propagation: {service.address} is taken")
    assert "--port" in refusal


def test_interrupt_stops_a_service_in_order(tmp_path):
    process, _ = start_service("--database", tmp_path / "graph.db", *SETTINGS)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.slow
def test_interrupt_of_a_command_is_quiet(tmp_path):
    process = subprocess.Popen(
        [
            *COMMAND,
            "replay",
            str(_write_many_events(tmp_path)),
            "--database",
            str(tmp_path / "r.db"),
            *SETTINGS,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "r.db").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


def test_help_is_quick_and_lists_every_command():
    started = time.monotonic()
    done = run_process("--help")
    assert time.monotonic() - started < 2
    for name in (
        "serve",
        "import",
        "replay",
        "report",
        "profile",
        "recommend",
        "trace",
        "routers",
        "watch",
        "round",
        "status",
        "doctor",
        "settings",
    ):
        assert f"  {name} " in done.stdout


def test_version():
    assert run_process("--version").stdout.startswith("propagation ")


def _write_settings(folder, text):
    path = folder / "propagation.toml"
    path.write_text(text)
    return path


def _write_many_events(folder):
    source = folder / "many"
    source.mkdir()
    (source / "clients.jsonl").write_text(
        "".join(json.dumps({"kind": "item", "id": f"i{n}"}) + "\n" for n in range(50))
    )
    (source / "events.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "event_id": f"e{n}",
                    "user_id": f"u{n % 400}",
                    "item_id": f"i{n % 50}",
                    "time": 1_700_000_000 + n,
                }
            )
            + "\n"
            for n in range(20_000)
        )
    )
    return source


def test_an_event_is_retracted_once_and_only_with_yes(service):
    at = ("--address", service.address)
    asked = run_command("retract", "bob-0", *at)
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert read_answer("retract", "bob-0", "--yes", *at)["outcomes"][0]["retracted"]
    again = run_command("retract", "bob-0", "--yes", *at)
    assert (again.returncode, again.stdout.splitlines()[1]) == (1, "bob-0: was retracted before")


@pytest.fixture
def address_options(service):
    """Options for a service in which one of cid's four events is retracted."""
    run_command("retract", "cid-0", "--yes", "--address", service.address)
    return "--address", service.address


def test_a_client_is_exported_to_a_new_file_or_with_force(address_options, tmp_path):
    lines = [
        json.loads(line)
        for line in run_command(
            "export-client", "--user", "cid", *address_options
        ).stdout.splitlines()
    ]
    named = [line["event_id"] for line in lines if line["what"] in ("event", "retracted_event")]
    assert named == ["cid-1", "cid-2", "cid-3", "cid-0"], "the retracted event stands last"
    to = tmp_path / "cid.jsonl"
    assert (
        run_command("export-client", "--user", "cid", "-o", str(to), *address_options).returncode
        == 0
    )
    assert [json.loads(line) for line in to.read_text().splitlines()] == lines
    assert to.stat().st_mode & 0o777 == 0o600, "only its owner may read it"
    to.write_text("theirs")
    refused = run_command("export-client", "--user", "cid", "-o", str(to), *address_options)
    assert (refused.returncode, "--force" in refused.stderr) == (3, True)
    assert to.read_text() == "theirs", "without --force nothing is overwritten"
    nowhere = run_command(
        "export-client", "--user", "cid", "-o", str(tmp_path / "none" / "x"), *address_options
    )
    assert (nowhere.returncode, "is not a folder" in nowhere.stderr) == (2, True)
    assert (
        run_command(
            "export-client", "--user", "cid", "-o", str(to), "--force", *address_options
        ).returncode
        == 0
    )
    assert [json.loads(line) for line in to.read_text().splitlines()] == lines
    nobody = run_command(
        "export-client", "--user", "nobody", "-o", str(to), "--force", *address_options
    )
    assert nobody.returncode == 6
    assert len(to.read_text().splitlines()) == len(lines), (
        "what is there stays where there is nothing new"
    )
    assert [file.name for file in tmp_path.iterdir()] == [to.name], "no partial file stays"


def test_a_dash_is_stdout_or_refused_and_never_a_file(address_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exported = run_command("export-client", "--user", "cid", "-o", "-", *address_options)
    assert (
        exported.stdout
        == run_command("export-client", "--user", "cid", *address_options).stdout
        != ""
    )
    for command in (
        ("report", *address_options, "-o"),
        ("backup",),
        ("export",),
        ("evaluate", ".", "--save"),
        ("evaluate", ".", "--plot"),
    ):
        for file, problem in (("-", "name a file"), ("gone/x.png", "is not a folder")):
            refused = run_command(*command, file)
            assert (refused.returncode, problem in refused.stderr) == (2, True)
            assert f"'{command[-1]}'" in refused.stderr or "'FILE'" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_report_shows_the_slices_of_an_evaluation(address_options, tmp_path):
    results, page = tmp_path / "targets.csv", tmp_path / "report.html"
    command = ("report", *address_options, "-o", page, "--results", results)
    missing = run_command(*command)
    assert (missing.returncode, "does not exist" in missing.stderr) == (2, True)
    results.write_text("seed,known,user,history,offk_adoption.n10\n1,moment,ann,3,0.5\n")
    refused = run_command(*command)
    assert refused.returncode == 3
    assert "has one arm, offk_adoption; slices compare offk_adoption with knn" in refused.stderr
    assert not page.exists()
    results.write_text(
        "seed,known,user,history,adopters,offk_adoption.n10,knn.n10,offk.n10\n"
        "1,moment,ann,3,60,0.5,0.6,0.5\n"
        "1,moment,bob,4,60,0.5,0.7,0.5\n"
    )
    done = run_command(*command)
    assert (done.returncode, done.stderr) == (0, "")
    text = page.read_text()
    assert "From the evaluation in targets.csv, not from this service: 2 targets" in text
    assert "-0.1500 ± 0.0500" in text
    other = results.rename(tmp_path / "report.json")
    ending = run_command(*command[:-1], other)
    assert (ending.returncode, "give one of .csv, .npz" in ending.stderr) == (2, True)


def test_an_export_follows_a_link_to_a_file(address_options, tmp_path):
    to, link = tmp_path / "cid.jsonl", tmp_path / "link"
    to.write_text("")
    link.symlink_to(to)
    assert (
        run_command("export-client", "--user", "cid", "-o", str(link), *address_options).returncode
        == 0
    )
    assert link.is_symlink(), "as /dev/stdout is"
    assert to.read_text() == run_command("export-client", "--user", "cid", *address_options).stdout


def test_a_client_is_forgotten_and_wiped_on_request(address_options):
    assert run_command("forget", *address_options).returncode == 2, "it must be named"
    would = run_command("forget", "--user", "cid", "--dry-run", *address_options)
    assert ": 3 events" in would.stdout, would.stderr
    assert (
        read_answer("forget", "--user", "cid", "--yes", "--wipe", *address_options)["events_erased"]
        == 3
    )
    wiping = next(
        job for job in read_answer("status", *address_options)["jobs"] if job["name"] == "wiping"
    )
    assert wiping["last"] is not None, "it was wiped by hand"
    assert run_command("forget", "--user", "cid", "--yes", *address_options).returncode == 6, (
        "it is not known again"
    )
    kept = run_command("forget", "--item", "i18", "--yes", *address_options)
    wiped = run_command("forget", "--item", "i19", "--yes", "--wipe", *address_options)
    assert [(done.returncode, "wiped" in done.stdout) for done in (kept, wiped)] == [
        (0, False),
        (0, True),
    ]


def test_the_night_s_work_is_done_with_a_retraction_on_request(address_options):
    kept = run_command("retract", "bob-1", "--yes", *address_options)
    wiped = run_command("retract", "bob-2", "--yes", "--wipe", *address_options)
    assert [(done.returncode, "learned again" in done.stdout) for done in (kept, wiped)] == [
        (0, False),
        (0, True),
    ]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("evolve", "--undo"), "propagation evolve"),
        (("evolve", "--undo", "0"), "propagation evolve"),
        (("dead-letters", "list", "--count"), "propagation dead-letters list"),
        (("token", "list", "--tokens"), "propagation token list"),
    ],
)
def test_a_usage_error_points_to_the_help_of_its_command(arguments, command):
    done = run_command(*arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(f"see `{command} --help`\n")
