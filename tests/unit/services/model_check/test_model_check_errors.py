"""What goes wrong is one sentence, with the exit code of other commands."""

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import typer

from services.cli.exits import CODES, ExitCode
from services.cli.research.model_check import model_check
from services.fake_llm.script import Refused


def find_code(error):
    return next(code for kind, code in CODES if isinstance(error, kind))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))


async def run(base_url, *assignments, **options):
    """Run the command beside the server's loop."""
    assigned = [f"openai.base_url={base_url}", "openai.model=planted", *assignments]
    options = {"data": None, "questions": 60, "seed": 7, **options}
    await asyncio.to_thread(model_check, assignments=assigned, **options)


async def expect(code, sentence, base_url, *assignments, **options):
    with pytest.raises(Exception, match=sentence) as failed:
        await run(base_url, *assignments, **options)
    assert "\n" not in str(failed.value)
    assert find_code(failed.value) == code


async def test_an_endpoint_that_is_down():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        begun = time.monotonic()
        await expect(ExitCode.UNREACHABLE, f"^{base_url} does not answer: connection:", base_url)
        assert time.monotonic() - begun < 10


async def test_a_wrong_key(open_model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    async with open_model(habits=["key_required"]) as model:
        await expect(
            ExitCode.DATA, "^planted at .* cannot be asked: 401: Incorrect API key", model.base_url
        )


@pytest.mark.parametrize("answers", ["an http.server", "the API of something else", "no /v1"])
async def test_an_address_that_is_no_endpoint(answers):
    """The address is blamed, not the model."""
    status, content, kind = {
        "the API of something else": (200, b'{"name": "inventory"}', "application/json"),
        "no /v1": (404, b"404 page not found", "text/plain"),
        "an http.server": (501, b"<html><title>Error response</title></html>", "text/html"),
    }[answers]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            base_url = f"http://127.0.0.1:{server.server_port}"
            await expect(
                ExitCode.UNREACHABLE,
                f"^{base_url} answers, but is no endpoint of chat .*: set openai.base_url",
                base_url,
            )
        finally:
            server.shutdown()
            serving.join()


async def test_a_model_that_the_server_does_not_have(open_model, monkeypatch):
    async def raise_unknown(*_):
        raise Refused(404, "The model `planted` does not exist", code="model_not_found")

    async with open_model() as model:
        monkeypatch.setattr(model, "_answer_chat", raise_unknown)
        await expect(
            ExitCode.UNREACHABLE,
            "does not know the model planted .*: set openai.model to one that it serves$",
            model.base_url,
        )


async def test_a_spent_budget(open_model):
    async with open_model() as model:
        await expect(
            ExitCode.DATA,
            "cannot be asked: the budget tokens_per_run of 5000 has .* left",
            model.base_url,
            "openai.budget.tokens_per_run=5000",
        )


async def test_answers_that_are_never_usable(open_model, capsys):
    async with open_model(faults={"not_json": 1.0}) as model:
        with pytest.raises(typer.Exit) as ended:
            await run(model.base_url)
        assert ended.value.exit_code == ExitCode.WRONG
        # 12 of 54 questions, each asked twice, and those that were under way.
        assert model.seen.calls.total() < 54
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith(
        "propagation: none of the first 12 answers of planted has a usable part"
    )
    assert error.endswith("use another model, or the offline reasoner")


def write_data(folder, clients, events):
    folder.mkdir()
    for name, rows in (("clients", clients), ("events", events)):
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


EVENTS = [
    {"user_id": user, "item_id": item, "time": 1_000 + number}
    for number, (user, item) in enumerate([("u", "a"), ("u", "b"), ("v", "a")])
]


@pytest.mark.parametrize(
    ("titles", "events", "sentence"),
    [
        ({}, EVENTS, "^small has 0 items with a text, and a choice needs two: give --data"),
        ({"a": "Kind of Blue"}, EVENTS[:1], "^small has 1 item with a text, and a choice needs"),
        ({"a": "Kind of Blue", "b": "So What"}, [], "^no user of small has events with two items"),
        ({"a": "Kind of Blue", "b": "So What"}, EVENTS, "^no user of small has events with two"),
    ],
)
async def test_data_without_questions(open_model, tmp_path, titles, events, sentence):
    clients = [{"kind": "item", "id": name, "title": title} for name, title in titles.items()]
    data = write_data(tmp_path / "small", clients, events)
    async with open_model() as model:
        await expect(ExitCode.DATA, sentence, model.base_url, data=data)
        assert model.seen.calls.total() == 0


async def test_a_folder_that_does_not_exist(tmp_path):
    await expect(ExitCode.DATA, "is not a folder", "http://127.0.0.1:1/v1", data=tmp_path / "none")


async def test_little_data_is_asked_about_as_far_as_it_goes(open_model, tmp_path, capsys):
    titles = {"a": "Kind of Blue", "b": "So What", "c": "Giant Steps"}
    clients = [{"kind": "item", "id": name, "title": title} for name, title in titles.items()]
    data = write_data(tmp_path / "small", clients, EVENTS)
    async with open_model() as model:
        await run(model.base_url, data=data, save=tmp_path / "report.json", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "report.json").read_text())
    assert printed["figures"]["choices"]["asked"] == 2
    assert [one["clients_a_call"] for one in printed["figures"]["names"]] == [1, 3]
    assert printed["estimate"]["events"] == 3
    assert printed["estimate"]["items"] == 3
    assert any(
        "Only 1 user can be asked about, so there are 2 choices" in note
        for note in printed["notes"]
    )


async def test_items_without_titles(open_model, tmp_path, capsys):
    texts = {"a": "A record of slow blues.", "b": "A novel of the sea.", "c": "A soul record."}
    clients = [{"kind": "item", "id": name, "description": text} for name, text in texts.items()]
    data = write_data(tmp_path / "small", clients, EVENTS)
    async with open_model() as model:
        await run(model.base_url, data=data)
    printed = capsys.readouterr().out
    assert "No item has a title" in printed
    assert "3 events and 3 items take about 1 minute at this pace" in printed
    assert "The data has too few users to judge predictions (2 choices)" in printed


async def test_prices_of_the_settings(open_model, capsys):
    async with open_model() as model:
        await run(model.base_url, "openai.price_prompt=2", "openai.price_completion=8", json=True)
    report = json.loads(capsys.readouterr().out)
    interaction = report["figures"]["costs"][1]
    money = (interaction["prompt_tokens"] * 2 + interaction["completion_tokens"] * 8) / 1e6
    assert interaction["money"] == pytest.approx(money)
    description = report["figures"]["costs"][-1]
    assert report["estimate"]["money"] == pytest.approx(12_000 * money + 50 * description["money"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_within_two_seconds(open_model, tmp_path, number):
    async with open_model(latency=30.0) as model:
        assigned = [f"--set=openai.base_url={model.base_url}", "--set=openai.model=planted"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.cli.main", "model-check", *assigned),
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            while not model.seen.running:
                assert process.returncode is None
                await asyncio.sleep(0.05)
            assert list(tmp_path.glob("propagation-model-check-*"))
            process.send_signal(number)
            begun = time.monotonic()
            _, error = await process.communicate()
            assert time.monotonic() - begun < 2
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == ExitCode.INTERRUPTED
    assert error == b""
    assert not list(tmp_path.glob("propagation-model-check-*"))
