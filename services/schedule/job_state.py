"""What the graph remembers of a job, so that another process, or the next start, knows what was
done."""

from propagation.model.base import Term
from propagation.ports.graph.blobs import BlobStore
from propagation.ports.graph.leases import Lease


class JobMemory(Term):
    """Times in milliseconds since 1970. `through`: what was due up to then is done. `finished`:
    when the last run succeeded, 0 before the first. `failures` of the run that is due now, the last
    at `failed` with `error`; it is tried again at `retry_at`."""

    through: int
    finished: int = 0
    failures: int = 0
    failed: int = 0
    retry_at: int = 0
    error: str = ""


async def remembered(store: BlobStore, name: str) -> JobMemory | None:
    """None before the job was ever looked at."""
    blob = await store.get_blob(_blob(name))
    return None if blob is None else JobMemory.model_validate_json(blob)


async def remember(store: BlobStore, name: str, memory: JobMemory, lease: Lease) -> None:
    """Raises LeaseLost where another process has taken the job over."""
    await store.put_blob(_blob(name), memory.model_dump_json().encode(), lease)


def _blob(name: str) -> str:
    return f"job:{name}"
