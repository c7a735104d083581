"""Each container of docker-compose.yml has only the rights that it needs, and every call between
containers carries a secret."""

import asyncio
import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from services.config.sources import load_settings
from services.security.roles import ROLES_BY_CALL
from services.security.tokens import find_token, read_tokens

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
MONITORING = ROOT / "services" / "monitoring"
# Of the tree that is tested, and not for the make that runs this test.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "MAKEFLAGS": ""}
# Who calls whom; the analysts and applications of this machine come through published ports.
CALLS = {
    ("propagation", "neo4j"),
    ("propagation", "qdrant"),
    ("prometheus", "propagation"),
    ("grafana", "prometheus"),
}
# What an image writes besides its data; everything else is on a file system that is read-only.
WRITTEN = {
    "neo4j": {"/data", "/logs", "/var/lib/neo4j/conf", "/tmp"},
    "qdrant": {"/qdrant/storage", "/qdrant/snapshots", "/tmp"},
    "propagation": {"/tmp"},
    "prometheus": {"/prometheus"},
    "grafana": {"/var/lib/grafana", "/tmp"},
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_rights_but_those_it_needs(name):
    service = SERVICES[name]
    assert service.get("read_only") is True
    assert service.get("cap_drop") == ["ALL"]
    assert service.get("security_opt") == ["no-new-privileges:true"]
    assert not {"cap_add", "privileged", "devices", "pid", "ipc", "network_mode"} & set(service)
    assert 0 < service.get("pids_limit", 0) <= 1024
    user = service.get("user") or re.search(r"^USER (.*)$", read_dockerfile(), re.M)[1]
    assert re.fullmatch(r"[1-9]\d*(:\d+)?", user), "a number, which is not root's"


@pytest.mark.parametrize("name", SERVICES)
def test_only_named_places_can_be_written(name):
    mounts = [volume.split(":") for volume in SERVICES[name].get("volumes", ())]
    assert all(mount[-1] == "ro" for mount in mounts if mount[0].startswith("."))
    volumes = {mount[1] for mount in mounts if not mount[0].startswith(".")}
    memory = {place.split(":")[0] for place in SERVICES[name].get("tmpfs", ())}
    assert volumes | memory == WRITTEN[name]


def test_a_container_reaches_those_that_it_calls_and_no_others():
    networks = {name: set(service.get("networks", ())) for name, service in SERVICES.items()}
    meet = {
        frozenset((one, other))
        for one in networks
        for other in networks
        if one != other and networks[one] & networks[other]
    }
    assert meet == {frozenset(call) for call in CALLS}
    published = {
        network for name in networks if SERVICES[name].get("ports") for network in networks[name]
    }
    internal = {
        name for name, options in COMPOSE["networks"].items() if options == {"internal": True}
    }
    assert internal == {"graph", "index", "metrics", "dashboard"}
    outer = set(COMPOSE["networks"]) - internal
    assert outer == published - internal, "a published port needs a network that is not internal"
    assert all(sum(one in joined for joined in networks.values()) == 1 for one in outer)


def test_a_container_sees_the_secrets_of_its_own_calls_only():
    seen = {
        name: {
            volume.split(":")[0].removeprefix("./secrets/")
            for volume in service.get("volumes", ())
            if volume.startswith("./secrets")
        }
        for name, service in SERVICES.items()
    }
    assert seen == {
        "neo4j": set(),
        "qdrant": set(),
        "propagation": {"service"},
        "prometheus": {"prometheus"},
        "grafana": {"grafana"},
    }


def test_kernels_are_compiled_for_any_processor_before_the_image_is_done():
    lines = read_dockerfile().splitlines()
    environment = next(place for place, line in enumerate(lines) if "NUMBA_CPU_NAME" in line)
    fill = next(
        place for place, line in enumerate(lines) if "services.runtime.kernel_cache" in line
    )
    assert "NUMBA_CPU_NAME=generic" in lines[environment].split()
    assert environment < fill, "it holds for the build and, as a variable of the image, for the run"
    assert not any("NUMBA" in name for name in SERVICES["propagation"]["environment"])


def test_every_health_check_of_what_is_called_presents_the_callers_secret():
    checks = {name: " ".join(service["healthcheck"]["test"]) for name, service in SERVICES.items()}
    assert "/run/secrets/neo4j" in checks["neo4j"]
    assert "/qdrant/config/local.yaml" in checks["qdrant"]
    assert "/secrets/health.token" in checks["propagation"]
    assert "--http.config.file=/etc/prometheus/client.yml" in checks["prometheus"]


async def test_the_health_check_of_qdrant_sends_the_key_and_fails_without(tmp_path):
    asked, settings = [], tmp_path / "local.yaml"

    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        asked.append(head[0])
        right = "api-key: se%cret" in head
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" if right else b"HTTP/1.0 401 Unauthorized\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    command = SERVICES["qdrant"]["healthcheck"]["test"][1].replace("$$", "$")
    codes = []
    async with server:
        for key in ("se%cret", "another"):
            settings.write_text(f"service:\n  api_key: {key}\n")
            check = await asyncio.create_subprocess_shell(
                command.replace("6333", str(port)).replace(
                    "/qdrant/config/local.yaml", str(settings)
                )
            )
            codes.append(await asyncio.wait_for(check.wait(), 20))
    assert (codes[0], codes[1] != 0) == (0, True)
    assert set(asked) == {"GET /collections HTTP/1.0"}, "which Qdrant refuses without the key"


@pytest.fixture(scope="module")
def secrets_folder(tmp_path_factory):
    """A folder in which `make secrets` has run, twice."""
    folder = tmp_path_factory.mktemp("deployment")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / ".venv").symlink_to(sys.prefix)
    for _ in range(2):
        subprocess.run(
            ["make", "--old-file=.venv/.runs", "secrets"],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            timeout=60,
            check=True,
        )
    return folder / "secrets"


@pytest.mark.slow
def test_secrets_are_closed_to_other_users_of_the_host_and_open_to_those_in_containers(
    secrets_folder,
):
    modes = {
        str(path.relative_to(secrets_folder)): stat.S_IMODE(path.stat().st_mode)
        for path in secrets_folder.rglob("*")
    }
    assert stat.S_IMODE(secrets_folder.stat().st_mode) == 0o700
    assert modes == {
        "passwords": 0o755,
        "passwords/neo4j": 0o644,
        "passwords/qdrant.yaml": 0o644,
        "passwords/propagation.toml": 0o644,
        "passwords/grafana": 0o644,
        "service": 0o755,
        "service/tokens": 0o644,
        "service/health.token": 0o644,
        "prometheus": 0o755,
        "prometheus/prometheus.token": 0o644,
        "prometheus/prometheus.pem": 0o644,
        "prometheus/prometheus.key": 0o644,
        "prometheus/clients.pem": 0o644,
        "grafana": 0o755,
        "grafana/prometheus.pem": 0o644,
        "grafana/grafana.pem": 0o644,
        "grafana/grafana.key": 0o644,
    }


def test_both_sides_of_a_connection_have_its_password_and_no_two_are_equal(secrets_folder):
    settings = load_settings(secrets_folder / "passwords" / "propagation.toml", {}, {}).settings
    neo4j = settings.neo4j.password.get_secret_value()
    qdrant = settings.qdrant.api_key.get_secret_value()
    assert (secrets_folder / "passwords" / "neo4j").read_text() == f"neo4j/{neo4j}\n"
    told = yaml.safe_load((secrets_folder / "passwords" / "qdrant.yaml").read_text())
    assert told == {"service": {"api_key": qdrant}}
    grafana = (secrets_folder / "passwords" / "grafana").read_text().strip()
    assert len({neo4j, qdrant, grafana}) == 3
    assert all(len(secret) == 48 for secret in (neo4j, qdrant, grafana))


def test_each_caller_has_a_token_of_its_own_with_the_role_that_it_needs(secrets_folder):
    tokens = read_tokens(secrets_folder / "service" / "tokens")
    for file in ("service/health.token", "prometheus/prometheus.token"):
        found = find_token((secrets_folder / file).read_text().strip(), tokens)
        assert found.name == Path(file).stem
        assert found.roles == set(ROLES_BY_CALL["GetStatus"])


def test_a_new_token_leaves_the_file_readable_for_the_container(secrets_folder):
    program = Path(sys.executable).with_name("propagation")
    command = [program, "token", "new", "shop", "--role", "application"]
    subprocess.run(
        [*command, "--tokens", secrets_folder / "service" / "tokens"],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    tokens = secrets_folder / "service" / "tokens"
    assert "shop" in read_tokens(tokens)
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o644
    assert [file.name for file in tokens.parent.iterdir() if "partial" in file.name] == []


async def test_prometheus_answers_only_grafana_and_its_own_health_check(secrets_folder):
    """Each has a key pair of its own, in the files that the settings name."""
    web = yaml.safe_load((MONITORING / "prometheus-web.yml").read_text())["tls_server_config"]
    check = yaml.safe_load((MONITORING / "prometheus-client.yml").read_text())["tls_config"]
    source = yaml.safe_load((MONITORING / "grafana-sources.yml").read_text())["datasources"][0]
    assert source["url"] == "https://prometheus:9090"
    assert source["jsonData"] == {"tlsAuth": True, "tlsAuthWithCACert": True}
    grafana = {
        name: text.removeprefix("$__file{").removesuffix("}")
        for name, text in source["secureJsonData"].items()
    }
    assert web["client_auth_type"] == "RequireAndVerifyClientCert"

    def find_file(container, named):
        return secrets_folder / container / Path(named).relative_to("/secrets")

    serving = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=find_file("prometheus", web["client_ca_file"])
    )
    serving.load_cert_chain(
        *(find_file("prometheus", web[name]) for name in ("cert_file", "key_file"))
    )
    serving.verify_mode = ssl.CERT_REQUIRED
    callers = [
        [find_file("prometheus", check[name]) for name in ("ca_file", "cert_file", "key_file")],
        [
            find_file("grafana", grafana[name])
            for name in ("tlsCACert", "tlsClientCert", "tlsClientKey")
        ],
    ]
    assert callers[0][2].read_bytes() != callers[1][2].read_bytes()

    async def answer(_, writer):
        writer.write(b"ready")
        await writer.drain()
        writer.close()

    async def ask(name, authority, *pair):
        context = ssl.create_default_context(cafile=authority)
        if pair:
            context.load_cert_chain(*pair)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=name
        )
        try:
            return await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    async with server:
        for name, caller in zip(("127.0.0.1", "prometheus"), callers, strict=True):
            assert await ask(name, *caller) == b"ready"
        with suppress(ssl.SSLError, ConnectionError):  # or the connection just ends
            assert await ask("prometheus", callers[1][0]) == b""


def test_prometheus_presents_its_token_to_the_service():
    job = yaml.safe_load((MONITORING / "prometheus.yml").read_text())["scrape_configs"][0]
    assert job["authorization"] == {"credentials_file": "/secrets/prometheus.token"}
    environment = SERVICES["propagation"]["environment"]
    assert environment["PROPAGATION_SERVER__TOKENS"] == "/secrets/tokens"


def read_dockerfile():
    return (ROOT / "Dockerfile").read_text()
