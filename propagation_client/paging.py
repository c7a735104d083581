"""Pages of answers, and batches of requests."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from google.protobuf.message import Message

# Below the service's limits of 1,000 rows and 4 MiB a call.
ROWS_A_CALL = 500
BYTES_A_CALL = 2 << 20


class PageRequest(Protocol):
    """A request of the proto for a page."""

    page_token: str


class Page(Protocol):
    """An answer of the proto that names the next page."""

    @property
    def next_page_token(self) -> str:
        """The token of the next page; empty on the last page."""


Request = TypeVar("Request", bound=PageRequest)
Answer = TypeVar("Answer", bound=Page, covariant=True)
Row = TypeVar("Row", bound=Message)


async def pages(
    call: Callable[[Request], Awaitable[Answer]], request: Request
) -> AsyncIterator[Answer]:
    """Make a call for page after page, and yield its answers.

    Args:
        call: A call of the stub, such as `client.stub.ListRouters`.
        request: The request for the first page; its page token is changed from page to page.
    """
    while True:
        page = await call(request)
        yield page
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def batches(messages: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Split messages into batches within the service's limits for a call."""
    batch: list[Row] = []
    size = 0
    for message in messages:
        added = message.ByteSize()
        if batch and (len(batch) == ROWS_A_CALL or size + added > BYTES_A_CALL):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += added
    if batch:
        yield batch
