"""The page over HTTP: a real HTTP server in this process, in front of a real service.

`start_page` serves a page; a `Page` is one visitor of it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import uvicorn

from services.security.roles import Role
from services.security.tokens import Token, create_token, write_tokens
from services.web.access.protection import FORGERY_FIELD
from services.web.server import PageOptions, build_server, listen, name_address
from services.web.state import PageState, get_state_of

KEY = re.compile(f'name="{FORGERY_FIELD}" value="([0-9a-f]+)"')


@dataclass(frozen=True)
class Page:
    """A visitor of a served page; redirects are not followed."""

    address: str
    http: httpx2.AsyncClient
    server: uvicorn.Server

    @property
    def state(self) -> PageState:
        """What the requests of the page share."""
        return get_state_of(self.server.config.app)

    async def get(self, path: str, **options) -> httpx2.Response:
        return await self.http.get(path, **options)

    async def find_key(self, path: str = "/") -> str:
        """Return the key with which this visitor's forms are sent."""
        found = KEY.search((await self.get(path)).text)
        assert found, "the page has no form"
        return found[1]

    async def send(self, form: str, fields: dict[str, str], of: str = "/") -> httpx2.Response:
        """Send a form as the page `of` would send it."""
        key = await self.find_key(of)
        return await self.http.post(form, data={FORGERY_FIELD: key, **fields})

    async def sign_in(self, token: str) -> httpx2.Response:
        return await self.http.post("/sign-in", data={"token": token, "next": "/"})


Serving = Callable[..., AbstractAsyncContextManager[Page]]


@pytest.fixture
def start_page() -> Serving:
    """Return a function that serves the page of a service.

    Use: `async with start_page(service.address) as page`. Other arguments are fields of
    PageOptions; `verify` is that of the visitor's HTTP client.
    """

    @asynccontextmanager
    async def start(
        service: str, *, verify: object = True, port: int = 0, **options: object
    ) -> AsyncIterator[Page]:
        chosen = PageOptions("127.0.0.1", port, service, **options)
        listening = listen(chosen.host, chosen.port)
        server = build_server(chosen)
        serving = asyncio.create_task(server.serve([listening]))
        address = name_address(chosen, listening)
        try:
            async with open_visitor(address, verify=verify) as http:
                yield Page(address, http, server)
        finally:
            server.should_exit = True
            await serving

    return start


def open_visitor(address: str, *, verify: object = True) -> httpx2.AsyncClient:
    """Open an HTTP client that keeps cookies, as another visitor has one."""
    return httpx2.AsyncClient(base_url=address, verify=verify, timeout=20, trust_env=False)


@dataclass(frozen=True)
class Tokens:
    """A tokens file, and the secrets of its tokens by role."""

    path: Path
    secrets: dict[Role, str]
    entries: dict[Role, Token]

    def keep(self, roles: Sequence[Role]) -> None:
        """Withdraw all other tokens."""
        write_tokens(self.path, [self.entries[role] for role in roles])


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    """A token for each role."""
    made = {role: create_token(f"my-{role}", [role]) for role in Role}
    found = Tokens(
        tmp_path / "page-tokens",
        {role: secret for role, (secret, _) in made.items()},
        {role: entry for role, (_, entry) in made.items()},
    )
    found.keep(list(Role))
    return found
