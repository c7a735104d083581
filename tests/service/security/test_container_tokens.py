"""A service with the variables of docker-compose.yml answers the containers that call it, and no
one without a token."""

import asyncio
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from services.config.sources import load_settings
from services.security.roles import Role
from services.security.tokens import create_token, write_tokens
from services.server import run_service

ROOT = Path(__file__).parents[3]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
# Here without a container: the stores of one process, free ports, and secrets in a test's folder.
HERE = {
    "PROPAGATION_STORE": "sqlite",
    "PROPAGATION_INDEX": "numpy",
    "PROPAGATION_SERVER__INSECURE": "true",
    "PROPAGATION_SERVER__PORT": "0",
    "PROPAGATION_MONITORING__PORT": "0",
    "PROPAGATION_SERVER__GRACE_SECONDS": "0.2",
    "PROPAGATION_REASONING_IN": "loop",
    "PROPAGATION_TASTE__K": "4",
    "PROPAGATION_SESSION__K": "4",
    "PROPAGATION_TABLE_EDGES": "2",
}


@pytest.fixture
async def service_and_token(tmp_path):
    secrets = {name: create_token(name, [Role.READ]) for name in ("health", "prometheus")}
    write_tokens(tmp_path / "tokens", [token for _, token in secrets.values()])
    (tmp_path / "health.token").write_text(secrets["health"][0])
    environment = SERVICES["propagation"]["environment"] | HERE
    environment = {name: replace_folders(value, tmp_path) for name, value in environment.items()}
    environment["PROPAGATION_DATABASE"] = str(tmp_path / "graph.db")
    (tmp_path / "propagation").write_text('neo4j.password = "secret"\n')
    async with run_service(load_settings(None, environment, {}).settings) as service:
        yield service, secrets["prometheus"][0]


def replace_folders(text, folder):
    return text.replace("/run/secrets/", f"{folder}/").replace("/secrets/", f"{folder}/")


async def test_the_health_check_fails_where_its_token_is_refused(service_and_token, tmp_path):
    service, _ = service_and_token
    command = replace_folders(SERVICES["propagation"]["healthcheck"]["test"][1], tmp_path)
    port = service.address.rpartition(":")[2]

    async def check():
        process = await asyncio.create_subprocess_shell(
            command.replace("$$", "$"),
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "PROPAGATION_ADDRESS": f"127.0.0.1:{port}",
            },
            stderr=asyncio.subprocess.PIPE,
        )
        _, complaint = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode, complaint.decode()

    assert await check() == (0, "")
    (tmp_path / "health.token").write_text("health.wrong")
    code, complaint = await check()
    assert code != 0
    assert "token" in complaint


async def test_prometheus_needs_its_token(service_and_token):
    service, token = service_and_token
    port = service.metrics.rpartition(":")[2]

    def scrape(headers):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert await asyncio.to_thread(scrape, {"Authorization": f"Bearer {token}"}) == 200
    assert await asyncio.to_thread(scrape, {}) == 401
