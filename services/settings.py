"""Every setting, typed; read once, at the edge (see settings_sources.py for where values come from)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from propagation.model.base import Term
from propagation.workflow.settings import WorkflowSettings

LogFormat = Literal["console", "json"]


class ServerSettings(Term):
    """The gRPC service. `port` 0: a free one. `insecure`: other addresses than loopback, without TLS or tokens."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(50051, ge=0, le=65535)
    insecure: bool = False
    max_message_bytes: int = Field(4 << 20, ge=1 << 10)
    grace_seconds: float = Field(10.0, gt=0)
    log_format: LogFormat = "console"


class Settings(Term):
    """`database`: the SQLite file of the laptop deployment. The workflow's own settings are named without a prefix
    (`taste.k`, not `workflow.taste.k`), as DESIGN and the method page name them."""

    database: Path = Path("propagation.db")
    server: ServerSettings = ServerSettings()
    workflow: WorkflowSettings = WorkflowSettings()


# RecNet as published: routers from attributes (2.2.1), one router an attribute (eq. 2), multicast by cosine (eq. 4). Its
# tau of .7 to .9 is of its own encoder and reaches hardly anybody under ours: `tau` stays the quantile until it is set.
PRESETS: Mapping[str, Mapping[str, object]] = {
    "paper": {"policy": "semantic", "taste.k": 20, "centres": "attributes"},
}
