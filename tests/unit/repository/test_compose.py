"""docker-compose.yml, Dockerfile and the monitoring files, checked without a Docker engine."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from propagation.adapters.shared.plain_secrets import PlainSecret
from propagation_client import credentials
from services.assembly import build_qdrant_index, build_sqlite_store
from services.config.sources import PREFIX, list_setting_fields, load_settings

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
KNOWN = {
    "image",
    "build",
    "command",
    "environment",
    "ports",
    "expose",
    "volumes",
    "deploy",
    "mem_limit",
    "stop_grace_period",
    "restart",
    "healthcheck",
    "depends_on",
    "profiles",
    "read_only",
    "tmpfs",
    "cap_drop",
    "security_opt",
    "networks",
    "user",
    "pids_limit",
    "secrets",
}
VARIABLE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
SIZE = re.compile(r"\d+[mg]")
PINNED = re.compile(r"[a-z0-9/]+:v?\d+\.\d+\.\d+[a-z-]*@sha256:[0-9a-f]{64}")
DURATION = re.compile(r"\d+[sm]")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_limits_a_restart_policy_and_a_health_check(name):
    service = SERVICES[name]
    assert set(service) <= KNOWN, "no unknown key"
    assert SIZE.fullmatch(service["mem_limit"]), "a limit of memory"
    assert service["restart"] == "unless-stopped", "a restart policy"
    check = service["healthcheck"]
    assert set(check) <= {"test", "interval", "timeout", "retries", "start_period"}, (
        "no unknown key of the health check"
    )
    assert check["test"][0] in ("CMD", "CMD-SHELL"), "a command to check with"
    assert all(DURATION.fullmatch(check[key]) for key in ("interval", "timeout")), (
        "durations with a unit"
    )
    assert "image" in service, "an image"
    if "build" not in service:
        assert PINNED.fullmatch(service["image"]), "a version of its own, pinned by digest"


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_is_published_beyond_this_machine(name):
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", ()))


def test_data_is_in_named_volumes():
    named = set(COMPOSE["volumes"])
    used = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", ())
    }
    assert {volume for volume in used if not volume.startswith(".")} == named
    files = {volume for volume in used if volume.startswith(".")}
    assert all((ROOT / file).exists() for file in files if not file.startswith("./secrets/"))


def test_no_secret_is_a_variable():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|AUTH|API_KEY|TOKEN", name)
            assert not secret or value.startswith(("/run/secrets/", "/secrets/"))
    asked = {name for name, *_ in VARIABLE.findall((ROOT / "docker-compose.yml").read_text())}
    assert asked == {"PROPAGATION_INSECURE", "PROPAGATION_PORTS", "PROPAGATION_REPLICAS"}
    example = (ROOT / ".env.example").read_text()
    assert asked - {"PROPAGATION_INSECURE"} == set(re.findall(r"^# (\w+)=", example, re.M))


def test_each_secret_is_of_one_container_or_of_one_connection():
    used = [
        secret if isinstance(secret, str) else secret["source"]
        for service in SERVICES.values()
        for secret in service.get("secrets", ())
    ]
    assert sorted(used) == sorted(COMPOSE["secrets"])
    assert all(
        secret["file"].startswith("./secrets/passwords/") for secret in COMPOSE["secrets"].values()
    )
    assert {".env", "secrets/"} <= set((ROOT / ".gitignore").read_text().splitlines())
    assert {".env", "secrets"} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_every_variable_of_the_service_is_a_setting():
    told = {name for name in SERVICES["propagation"]["environment"] if name.startswith(PREFIX)}
    told |= set(re.findall(rf"# ({PREFIX}\w+):", (ROOT / "docker-compose.yml").read_text()))
    told -= {
        f"{PREFIX}CONFIG",
        credentials.CA,
        credentials.CERTIFICATE,
        credentials.KEY,
    }  # what the health check, a client, shows and trusts
    assert {name.removeprefix(PREFIX).replace("__", ".").lower() for name in told} <= set(
        list_setting_fields()
    )


def test_passwords_are_sent_without_tls_only_because_both_settings_allow_it(tmp_path):
    passwords = tmp_path / "passwords.toml"
    passwords.write_text('neo4j.password = "very-secret"\nqdrant.api_key = "very-secret"\n')
    environment = {
        name: value
        for name, value in SERVICES["propagation"]["environment"].items()
        if name.startswith(f"{PREFIX}NEO4J__") or name.startswith(f"{PREFIX}QDRANT__")
    } | {f"{PREFIX}CONFIG": str(passwords)}
    settings = load_settings(None, environment, {}).settings
    assert settings.neo4j.credentials() == ("neo4j", "very-secret")
    build_qdrant_index(settings, build_sqlite_store(settings))
    for part, connection in (
        ("NEO4J", lambda given: given.neo4j.credentials()),
        ("QDRANT", lambda given: build_qdrant_index(given, build_sqlite_store(given))),
    ):
        strict = load_settings(None, environment | {f"{PREFIX}{part}__INSECURE": "false"}, {})
        with pytest.raises(PlainSecret):
            connection(strict.settings)


def test_dependencies_of_the_service_exist_and_have_a_health_check():
    for name, needs in SERVICES["propagation"]["depends_on"].items():
        assert needs == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[name]


def test_one_replica_or_three():
    assert SERVICES["propagation"]["deploy"]["replicas"] == "${PROPAGATION_REPLICAS:-1}"
    assert "container_name" not in SERVICES["propagation"], "a name can only be had once"


def test_the_image_runs_as_a_user_and_installs_by_hash():
    lines = [
        line
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    image = next(line for line in lines if line.startswith("ARG PYTHON="))
    assert PINNED.fullmatch(image.removeprefix("ARG PYTHON=")), "the base is pinned by digest"
    bases = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert set(bases) == {"${PYTHON}"}
    last = max(place for place, line in enumerate(lines) if line.startswith("FROM"))
    final = lines[last:]
    assert [line for line in final if line.startswith("USER")] == ["USER 10001"]
    assert any("--require-hashes -r requirements-service.lock" in line for line in lines[:last])
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((ROOT / source).exists() for source in line.split()[1:-1])


def test_the_smaller_locks_are_parts_of_the_whole_lock():
    def read_pins(name):
        return set(re.findall(r"^([a-z0-9._-]+==\S+)", (ROOT / name).read_text(), re.M))

    service = read_pins("requirements-service.lock")
    whole = read_pins("requirements.lock")
    assert service < whole
    assert read_pins("requirements-uv.lock") < whole
    names = {pin.split("==")[0] for pin in service}
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {re.split(r"[<>=]", dependency)[0] for dependency in wanted}
    assert wanted - names == {"preference-propagation-client"}, (
        "make lock writes all, and the client comes from this tree"
    )
    assert names.isdisjoint({"pytest", "mypy", "ruff", "grpcio-tools", "py2neo"})


def test_monitoring_files_are_valid():
    folder = ROOT / "services" / "monitoring"
    assert (
        yaml.safe_load((folder / "prometheus.yml").read_text())["scrape_configs"][0]["job_name"]
        == "propagation"
    )
    source = yaml.safe_load((folder / "grafana-sources.yml").read_text())["datasources"][0]
    dashboard = json.loads((folder / "dashboard.json").read_text())
    used = {panel["datasource"]["uid"] for panel in dashboard["panels"] if panel["type"] != "row"}
    assert used == {source["uid"]}
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
