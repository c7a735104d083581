"""Which code makes a run's results: its digest, and its git commit."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from propagation.release import NAME

ROOT = Path(__file__).parents[2]
RESULT_SOURCES = ("propagation", "services/assembly.py", "services/config", "services/laboratory")
"""Files and folders of the distribution that decide results, from ROOT."""
GENERATED = "propagation/v1"
"""Code of the calls, which decides no result and comes with the client's distribution."""
GIT_SECONDS = 10.0
COMMIT_SIGNS = 12


@cache
def digest_code() -> str:
    """Digest the sources that decide results.

    The version cannot tell two commits apart, and an installed package has no commit. The digest is
    the same for a checkout and for the wheel that is built from it.
    """
    return digest_sources(ROOT)


def digest_sources(root: Path) -> str:
    """Digest the names and contents of the RESULT_SOURCES in a folder."""
    digest = blake2b(digest_size=8)
    for path in _list_sources(root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _list_sources(root: Path) -> Iterator[Path]:
    for name in RESULT_SOURCES:
        path = root / name
        found = sorted(path.rglob("*.py")) if path.is_dir() else root.glob(name)
        yield from (one for one in found if root / GENERATED not in one.parents)


@cache
def find_commit() -> str:
    """Return the git commit of the code; "" if none is known.

    Changes of RESULT_SOURCES that are not committed are named. An installed package has a commit if
    pip installed it from git.
    """
    return find_commit_of(ROOT) or _find_installed_commit()


def find_commit_of(root: Path) -> str:
    """Return the commit of a checkout; "" for any other folder.

    A package that is installed inside of another checkout is not part of that: git does not know
    its files.
    """
    known = _ask_git(root, "ls-files", "--", RESULT_SOURCES[0])
    commit = _ask_git(root, "rev-parse", "HEAD") if known else ""
    if not commit:
        return ""
    changed = _ask_git(root, "status", "--porcelain", "--", *RESULT_SOURCES)
    return commit[:COMMIT_SIGNS] + (" with changes" if changed else "")


def _ask_git(root: Path, *arguments: str) -> str:
    # Git's own variables, as a hook has them, would name another repository.
    environment = {key: one for key, one in os.environ.items() if not key.startswith("GIT_")}
    command: Sequence[str] = ("git", "-C", str(root), *arguments)
    try:
        found = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=True,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def _find_installed_commit() -> str:
    try:
        source = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, json.JSONDecodeError):
        return ""
    commit = source.get("vcs_info", {}).get("commit_id", "")
    return str(commit)[:COMMIT_SIGNS]
