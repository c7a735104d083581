"""Build both wheels, install them, and let the client call the service."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from propagation.laboratory.code_version import digest_code

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
FOLDER = BUILD / "wheels"
LOCK = ROOT / "requirements-service.lock"
APPLICATION = Path(__file__).parent / "application.py"
CLIENT, SERVICE = "preference_propagation_client", "preference_propagation"
LARGEST_CLIENT_MB = 30
PIN = re.compile(r"^[\w.-]+==[^ \\]+", re.MULTILINE)
# The environments must see the packages that are installed into them, and nothing of this tree.
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
LIST = (
    "from importlib.metadata import distributions as all;"
    "print(*sorted(f'{one.name} {one.version}' for one in all()), sep=', ')"
)
CODE = "from propagation.laboratory.code_version import digest_code, find_commit"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def run(*command: str | Path) -> str:
    """Run a program outside of the tree, and return what it prints."""
    return subprocess.run(
        command, cwd=FOLDER, env=OUTSIDE, check=True, text=True, stdout=subprocess.PIPE
    ).stdout


def build_wheel(source: Path) -> Path:
    """Build the wheel of a folder of the tree.

    The remains of an earlier build are removed first: they would be packed again, deleted modules
    included.
    """
    for left in ("lib", "bdist.linux-x86_64"):
        shutil.rmtree(source / "build" / left, ignore_errors=True)
    before = set(FOLDER.glob("*.whl"))
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", FOLDER, source)
    (wheel,) = set(FOLDER.glob("*.whl")) - before
    return wheel


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @classmethod
    def empty(cls, name: str) -> "Environment":
        """Make an empty environment in build/wheels."""
        run(sys.executable, "-m", "venv", "--without-pip", FOLDER / name)
        return cls(FOLDER / name)

    @property
    def python(self) -> Path:
        """Path of the interpreter."""
        return self.folder / "bin" / "python"

    def pip(self, *arguments: str | Path) -> None:
        """Run pip for this environment."""
        run(*PIP, "--python", self.python, *arguments)

    def install_lock(self, lock: Path) -> None:
        """Install what a lock names, by uv or else by pip.

        uv takes a fifth of pip's time.
        """
        options = ("--require-hashes", "--requirement", lock)
        uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", self.python)
        if subprocess.run([*uv, *options], cwd=FOLDER, env=OUTSIDE).returncode:
            self.pip("install", *options)

    def packages(self) -> str:
        """Return the names and versions of the installed distributions."""
        return run(self.python, "-I", "-c", LIST).strip()

    def megabytes(self) -> float:
        """Return the size of all installed files, in MB."""
        (library,) = (self.folder / "lib").glob("python3*/site-packages")
        return sum(path.stat().st_size for path in library.rglob("*") if path.is_file()) / 1e6


def check_code(environment: Environment) -> None:
    """Check that results made by the wheel and by this tree are known as made by the same code."""
    installed = run(environment.python, "-I", "-c", f"{CODE}; print(digest_code())").strip()
    ours = digest_code()
    if installed != ours:
        raise SystemExit(f"the wheel's code has the digest {installed}, and this tree's has {ours}")
    if commit := run(environment.python, "-I", "-c", f"{CODE}; print(find_commit())").strip():
        raise SystemExit(f"the wheel says that it is a checkout: {commit}")
    print(f"the service's code: {installed}")


@contextmanager
def start_service(environment: Environment) -> Iterator[str]:
    """Run the service of an environment; yield its address."""
    command = [environment.folder / "bin" / "propagation", "serve", "--auto-create"]
    command += ["--port", "0", "--database", FOLDER / "trial.db"]
    with subprocess.Popen(
        command, cwd=FOLDER, env=OUTSIDE, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            line = process.stdout.readline()
            if not line.startswith("listening on "):
                raise SystemExit(f"the service did not start: {line!r}")
            yield line.split()[-1]
        finally:
            process.terminate()
    if process.returncode:
        raise SystemExit(f"the service ended with {process.returncode}")


def main() -> None:
    """Try both wheels; exit with a message if one fails."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    client, service = build_wheel(ROOT / "client"), build_wheel(ROOT)
    pins = FOLDER / "pins.txt"
    pins.write_text("\n".join(PIN.findall(LOCK.read_text())))

    application = Environment.empty("application")
    application.pip("install", "--only-binary", ":all:", "--constraint", pins, client)
    megabytes = application.megabytes()
    print(f"the client's environment, {megabytes:.1f} MB: {application.packages()}")
    if megabytes > LARGEST_CLIENT_MB:
        raise SystemExit(f"the client brings {megabytes:.0f} MB; at most {LARGEST_CLIENT_MB}")

    operator = Environment.empty("operator")
    operator.install_lock(LOCK)
    operator.pip("install", "--no-deps", client, service)
    operator.pip("check")
    print(f"the service's environment, {operator.megabytes():.0f} MB", flush=True)
    check_code(operator)
    with start_service(operator) as address:
        print(run(application.python, "-I", APPLICATION, address), end="")


if __name__ == "__main__":
    main()
