"""Every setting, typed; read once, at the edge (see services/cli)."""

from pathlib import Path

from pydantic import Field

from propagation.model.base import Term
from propagation.workflow.settings import WorkflowSettings


class ServerSettings(Term):
    host: str = "127.0.0.1"
    port: int = Field(50051, ge=0, le=65535)
    insecure: bool = False
    max_message_bytes: int = Field(4 << 20, ge=1 << 10)
    grace_seconds: float = Field(10.0, gt=0)


class Settings(Term):
    """`database`: the SQLite file of the laptop deployment."""

    database: Path = Path("propagation.db")
    server: ServerSettings = ServerSettings()
    workflow: WorkflowSettings = WorkflowSettings()
