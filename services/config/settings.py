"""Every setting, typed; read once, at the edge (see settings_sources.py for where values come
from)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from propagation.adapters.neo4j.connection.settings import Neo4jSettings
from propagation.adapters.openai.options import OpenAIOptions
from propagation.model.base import Term
from propagation.workflow.settings import WorkflowSettings
from services.config.cron import Calendar, zone_of

LogFormat = Literal["console", "json"]
BUFFER_OF_A_MODEL = 3


class TlsSettings(Term):
    """PEM files, read again when they change. `client_ca`: callers must show a certificate that one
    of these signed."""

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None


class LimitSettings(Term):
    """What one client (a token, or an address) may ask for; none: as much as it can."""

    calls_per_second: float | None = Field(None, gt=0)
    bytes_per_second: float | None = Field(None, ge=1 << 10)


class ServerSettings(Term):
    """The gRPC service. `port` 0: a free one. `tokens`: a file made by `propagation token new`;
    read again when it changes, or at SIGHUP. `insecure`: other addresses than loopback, without TLS
    or tokens."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(50051, ge=0, le=65535)
    insecure: bool = False
    tls: TlsSettings = TlsSettings()
    tokens: Path | None = None
    limits: LimitSettings = LimitSettings()
    max_message_bytes: int = Field(4 << 20, ge=1 << 10)
    grace_seconds: float = Field(10.0, gt=0)
    log_format: LogFormat = "console"


class ScheduleSettings(Term):
    """What runs by the calendar. `evolution`: a cron line (minute hour day month weekday), None:
    never. `misfire_grace_time` [seconds]: a run missed by more is left out; None: however late, it
    is caught up, once. A run that failed is tried again after `retry_first` seconds, then twice as
    late each time, at most `retry_longest`."""

    evolution: str | None = "0 3 * * *"
    time_zone: str = "UTC"
    misfire_grace_time: float | None = Field(None, gt=0)
    retry_first: float = Field(60.0, gt=0)
    retry_longest: float = Field(3_600.0, gt=0)

    @field_validator("time_zone")
    @classmethod
    def _is_a_zone(cls, value: str) -> str:
        zone_of(value)
        return value

    @field_validator("evolution")
    @classmethod
    def _is_a_cron_line(cls, value: str | None) -> str | None:
        if value is not None:
            Calendar(value, "UTC")
        return value


class MonitoringSettings(Term):
    """What an operator watches; all off by default. `port`: of GET /metrics, 0: a free one.
    `traces`: where OpenTelemetry spans go (OTLP over gRPC, http://127.0.0.1:4317), for
    `trace_share` of all interactions."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int | None = Field(None, ge=0, le=65535)
    traces: str | None = Field(None, pattern="^https?://[^ ]+$")
    trace_share: float = Field(0.01, ge=0, le=1)


class QdrantSettings(Term):
    """A Qdrant server. `url` is that of its HTTP port (https: TLS for gRPC too); `prefix` begins
    the names of our collections there."""

    url: str = Field("http://127.0.0.1:6333", pattern="^https?://[^ ]+$")
    grpc_port: int = Field(6334, ge=1, le=65535)
    api_key: SecretStr | None = None
    prefix: str = Field("propagation", pattern="^[A-Za-z0-9_]{1,64}$")
    timeout_seconds: float = Field(10.0, ge=1)


class LoopSettings(WorkflowSettings):
    """The workflow's settings, with the policies that a service offers (see assembly.py)."""

    policy: Literal["adoption", "semantic", "placebo", "point_to_point"] = "adoption"


class Settings(Term):
    """`store`: where the graph lies, in one SQLite file (`database`) or on a Neo4j server
    (`neo4j`). `reasoning_in`: where the offline reasoner computes on SQLite, in a process beside
    the service (so that calls are answered meanwhile) or on the service's own loop, where every
    other reasoner and store has its place. The workflow's own settings are named without a prefix
    (`taste.k`, not `workflow.taste.k`), as DESIGN and the method page name them."""

    store: Literal["sqlite", "neo4j"] = "sqlite"
    database: Path = Path("propagation.db")
    neo4j: Neo4jSettings = Neo4jSettings()
    index: Literal["numpy", "qdrant"] = "numpy"
    qdrant: QdrantSettings = QdrantSettings()
    server: ServerSettings = ServerSettings()
    monitoring: MonitoringSettings = MonitoringSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    reasoner: Literal["offline", "openai"] = "offline"
    workflow: LoopSettings = Field(LoopSettings(), validate_default=True)
    reasoning_in: Literal["process", "loop"] = "process"
    embedder: Literal["fitted", "openai"] = "fitted"
    openai: OpenAIOptions = OpenAIOptions()

    @field_validator("workflow", mode="before")
    @classmethod
    def _as_loop_settings(cls, value: object) -> object:
        return (
            value.model_dump(exclude_unset=True) if isinstance(value, WorkflowSettings) else value
        )

    @field_validator("workflow")
    @classmethod
    def _of_the_reasoner(cls, workflow: LoopSettings, info: ValidationInfo) -> LoopSettings:
        """A buffer holds 3 messages with a language model, unless it is told."""
        if info.data.get("reasoner") != "openai" or "buffer" in workflow.model_fields_set:
            return workflow
        return workflow.model_copy(update={"buffer": BUFFER_OF_A_MODEL})

    @property
    def graph(self) -> str:
        """Where the graph lies, as a person reads it."""
        return (
            str(self.database)
            if self.store == "sqlite"
            else f"{self.neo4j.uri}/{self.neo4j.database}"
        )


# RecNet as published: routers from attributes (2.2.1), one router an attribute (eq. 2), multicast
# by cosine (eq. 4). Its tau of .7 to .9 is of its own encoder and reaches hardly anybody under
# ours: `tau` stays the quantile until it is set.
PRESETS: Mapping[str, Mapping[str, object]] = {
    "paper": {
        "policy": "semantic",
        "taste.k": 20,
        "centres": "attributes",
        "evolve_every_rounds": 1,
    },
}
