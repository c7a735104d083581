"""Temporary folders: a later run removes those of killed processes, and no others."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from propagation.laboratory.temporary_folder import (
    OWNER,
    PREFIX,
    make_temporary_folder,
    remove_abandoned_folders,
)

HOLDING = """
import sys
from propagation.laboratory.temporary_folder import make_temporary_folder
with make_temporary_folder() as folder:
    (folder / "graph.db").write_text("texts of users")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder_of_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_ends_with_its_body(tmp_path):
    with make_temporary_folder() as folder:
        (folder / "scores.npy").write_text("1")
        assert folder.parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_is_used_is_not(tmp_path):
    command = [sys.executable, "-c", HOLDING]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one,
        make_temporary_folder() as own,
    ):
        other = tmp_path / one.stdout.readline().strip()
        remove_abandoned_folders()
        assert other.is_dir(), "its process runs"
        assert own.is_dir(), "this process uses it"
        one.send_signal(signal.SIGKILL)
        one.wait()
        remove_abandoned_folders()
        assert not other.exists()
        assert own.is_dir()


def test_a_folder_without_a_plain_lock_stays_and_stops_nothing(tmp_path):
    (tmp_path / f"{PREFIX}new").mkdir()
    (tmp_path / f"{PREFIX}pipe").mkdir()
    os.mkfifo(tmp_path / f"{PREFIX}pipe" / OWNER)
    (tmp_path / f"{PREFIX}link").mkdir()
    (tmp_path / f"{PREFIX}link" / OWNER).symlink_to(tmp_path / "nowhere")
    (tmp_path / f"{PREFIX}file").write_text("mine")
    remove_abandoned_folders()
    assert {path.name.removeprefix(PREFIX) for path in tmp_path.iterdir()} >= {
        "new",
        "link",
        "file",
    }
