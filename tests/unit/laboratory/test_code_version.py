"""What the code of this program is: a digest of its sources, and a commit where there is one."""

import os
import shutil
import subprocess

import pytest

from propagation.laboratory.code_version import (
    ROOT,
    digest_code,
    digest_sources,
    find_commit,
    find_commit_of,
)

AUTHOR = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A"}


@pytest.fixture
def tree(tmp_path):
    """A small copy of the distribution's layout."""
    for name in ("propagation/numbers/learn.py", "services/laboratory/page.py", "docs/a.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass\n")
    return tmp_path


def test_the_digest_changes_with_what_decides_results_and_with_nothing_else(tree, tmp_path):
    before = digest_sources(tree)
    (tree / "docs" / "a.md").write_text("more")
    (tree / "services" / "cli.py").write_text("pass\n")
    for name in ("propagation/v1", "propagation/numbers/__pycache__"):
        (tree / name).mkdir()
        (tree / name / "generated.pyc").write_text("1")
    (tree / "propagation" / "v1" / "call_pb2.py").write_text("pass\n")
    assert digest_sources(tree) == before
    copy = shutil.copytree(tree, tmp_path / "site-packages")
    assert digest_sources(copy) == before, "where it is installed does not matter"
    (tree / "propagation" / "numbers" / "learn.py").write_text("pass  # better\n")
    changed = digest_sources(tree)
    (tree / "propagation" / "numbers" / "learn.py").rename(tree / "propagation" / "learn.py")
    assert len({before, changed, digest_sources(tree)}) == 3


def test_this_code_has_a_digest():
    assert digest_code() == digest_sources(ROOT)
    assert find_commit() == find_commit_of(ROOT), "tests run in a checkout"


def git(folder, *arguments):
    environment = {**os.environ, **AUTHOR, "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(
        ["git", "-C", folder, *arguments], env=environment, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def test_the_commit_is_that_of_the_checkout_which_has_the_code(tree):
    assert find_commit_of(tree) == "", "no checkout"
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "one")
    commit = git(tree, "rev-parse", "HEAD")
    assert find_commit_of(tree) == commit[:12]
    (tree / "docs" / "a.md").write_text("more")
    assert find_commit_of(tree) == commit[:12], "docs decide no result"
    (tree / "propagation" / "numbers" / "learn.py").write_text("pass  # better\n")
    assert find_commit_of(tree) == f"{commit[:12]} with changes"
    installed = tree / ".venv" / "site-packages"
    shutil.copytree(tree / "propagation", installed / "propagation")
    assert find_commit_of(installed) == "", "installed inside of another checkout"
