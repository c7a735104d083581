"""What the two distributions of this repository say of themselves."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLIENT = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
GENERATED = ROOT / "propagation" / "v1"
PYTHON = "Programming Language :: Python :: "


def test_both_have_one_version_and_the_service_needs_that_client():
    assert CLIENT["version"] == PROJECT["version"]
    assert f"{CLIENT['name']}=={CLIENT['version']}" in PROJECT["dependencies"]


def test_both_support_the_same_pythons():
    assert CLIENT["requires-python"] == PROJECT["requires-python"] == ">=3.11"
    for project in (CLIENT, PROJECT):
        versions = [name for name in project["classifiers"] if name.startswith(PYTHON)]
        assert versions == [PYTHON + version for version in ("3.11", "3.12", "3.13")]


def test_the_client_needs_the_versions_that_its_generated_code_needs():
    needs = {one.name: one.specifier for one in map(Requirement, CLIENT["dependencies"])}
    assert set(needs) == {"grpcio", "protobuf"}
    stub = (GENERATED / "propagation_pb2_grpc.py").read_text()
    (grpc,) = re.findall(r"GRPC_GENERATED_VERSION = '(.+)'", stub)
    assert str(needs["grpcio"]) == f">={grpc}"
    messages = (GENERATED / "propagation_pb2.py").read_text()
    (protobuf,) = re.findall(r"^# Protobuf Python Version: (.+)$", messages, re.MULTILINE)
    major = int(protobuf.partition(".")[0])
    assert set(str(needs["protobuf"]).split(",")) == {f">={protobuf}", f"<{major + 2}"}


def test_the_locks_name_no_host_and_no_file():
    for lock in ("requirements.lock", "requirements-service.lock", "requirements-uv.lock"):
        text = (ROOT / lock).read_text()
        assert not re.search(r"https?:|file:|preference-propagation|^-e|\./", text, re.MULTILINE)
