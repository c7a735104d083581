"""Every setting with its type and limits.

`sources.py` says where values come from.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.sentences.options import SentenceOptions
from propagation.model import Term
from propagation.workflow.settings import WorkflowSettings
from services.config.cron import Calendar

URL = "^https?://[^ ]+$"


class TlsSettings(Term):
    """PEM files of the service, read again when they change."""

    certificate: Path | None = Field(
        None, description="File with the service's certificate; none: no TLS."
    )
    key: Path | None = Field(
        None, description="File with the private key of that certificate; none: no TLS."
    )
    client_ca: Path | None = Field(
        None,
        description=(
            "File of certificates; callers must show a certificate signed by one of them; none:"
            " callers need no certificate."
        ),
    )


class LimitSettings(Term):
    """Limits of one client: a token or, without tokens, an address."""

    calls_per_second: float | None = Field(
        None,
        gt=0,
        description=(
            "Calls a second that one token (without tokens, one address) may make; none: no limit."
        ),
    )
    bytes_per_second: float | None = Field(
        None,
        ge=1 << 10,
        description=(
            "Bytes a second that one token (without tokens, one address) may send; none: no limit."
        ),
    )


class ServerSettings(Term):
    """The gRPC server."""

    host: str = Field(
        "127.0.0.1", min_length=1, description="Address on which the service listens."
    )
    port: int = Field(
        50051, ge=0, le=65535, description="Port on which the service listens; 0 takes a free one."
    )
    insecure: bool = Field(
        False,
        description="Listen without TLS or tokens on an address that other machines can reach.",
    )
    tls: TlsSettings = TlsSettings()
    tokens: Path | None = Field(
        None,
        description=(
            "File that `propagation token new` writes, read again when it changes, or at SIGHUP;"
            " none: callers need no token."
        ),
    )
    limits: LimitSettings = LimitSettings()
    max_message_bytes: int = Field(
        4 << 20, ge=1 << 10, description="The largest message that is received or sent, in bytes."
    )
    grace_seconds: float = Field(
        10.0, gt=0, description="How many seconds a stop waits for calls to end."
    )
    drain_seconds: float = Field(
        15.0, gt=0, description="How many seconds a stop may take after that; then it is cut off."
    )
    log_format: Literal["console", "json"] = Field(
        "console", description="How the log is written: for people, or as one JSON object a line."
    )


class ScheduleSettings(Term):
    """Jobs by the calendar."""

    evolution: str | None = Field(
        "0 3 * * *",
        description=(
            "When evolution runs, as a cron line (minute hour day month weekday); none: never."
        ),
    )
    factors: str | None = Field(
        "30 3 * * *",
        description=(
            "When the ranker's factors are learned again without the events that were withdrawn "
            "since, as a cron line; none: only with `--wipe`."
        ),
    )
    wiping: str | None = Field(
        "0 4 * * *",
        description=(
            "When traces of forgotten clients are wiped, as a cron line; none: only at the next "
            "start."
        ),
    )
    time_zone: ZoneInfo = Field(
        ZoneInfo("UTC"), description="Time zone of the cron lines, for example Europe/Berlin."
    )
    misfire_grace_time: float | None = Field(
        None,
        gt=0,
        description=(
            "A run that is late by more seconds than this is left out; none: missed runs are caught"
            " up by one run."
        ),
    )
    retry_first: float = Field(
        60.0, gt=0, description="Seconds until a failed run is retried; doubled each time."
    )
    retry_longest: float = Field(
        3_600.0, gt=0, description="The longest pause before a failed run is retried, in seconds."
    )

    @field_validator("evolution", "factors", "wiping")
    @classmethod
    def _check_cron(cls, value: str | None) -> str | None:
        """Check a cron line.

        The errors also offer `none`, which only the setting allows, not the calendar.
        """
        try:
            if value is not None:
                Calendar(value, ZoneInfo("UTC"))
        except ValueError as error:
            raise ValueError(f"{error}; or none for never") from error
        return value


class MonitoringSettings(Term):
    """Metrics and traces."""

    host: str = Field("127.0.0.1", min_length=1, description="Address on which metrics are served.")
    port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port of GET /metrics; 0 takes a free one; none: no metrics.",
    )
    traces: str | None = Field(
        None,
        pattern=URL,
        description=(
            "Where OpenTelemetry spans go (OTLP over gRPC), e.g. http://127.0.0.1:4317; none: "
            "nowhere."
        ),
    )
    insecure: bool = Field(
        False,
        description="Send OTEL_EXPORTER_OTLP_HEADERS to other machines without TLS.",
    )
    trace_share: float = Field(
        0.01, ge=0, le=1, description="Share of interactions that are traced (1: all)."
    )


class WebSettings(Term):
    """The web page.

    A process of its own serves it, with the service's certificate.
    """

    host: str = Field("127.0.0.1", min_length=1, description="Address on which the page is served.")
    port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port of the page; 0 takes a free one; none: no page (`--web`: 8080).",
    )
    reports: Path | None = Field(
        None,
        description="Folder whose HTML files, such as reports of the laboratory, the page lists;"
        " none: no reports.",
    )


class QdrantSettings(Term):
    """A Qdrant server."""

    url: str = Field(
        "http://127.0.0.1:6333",
        pattern=URL,
        description="HTTP address of the Qdrant server; with https, gRPC uses TLS too.",
    )
    grpc_port: int = Field(6334, ge=1, le=65535, description="The server's port for gRPC.")
    api_key: SecretStr | None = Field(
        None, description="The key that the server asks for; it is never shown; none: no key."
    )
    insecure: bool = Field(False, description="Send the key to other machines without TLS.")
    prefix: str = Field(
        "propagation",
        pattern="^[A-Za-z0-9_]{1,64}$",
        description="The names of our collections begin with this.",
    )
    timeout_seconds: float = Field(
        10.0, ge=1, description="The most seconds that a call to Qdrant may take."
    )


class Settings(Term):
    """All settings.

    The workflow's own settings are written without a prefix: `taste.k`, not `workflow.taste.k`.
    """

    store: Literal["sqlite", "neo4j"] = Field(
        "sqlite", description="Where the graph is: in one file (`database`) or on a Neo4j server."
    )
    database: Path = Field(
        Path("propagation.db"), description="File that holds the graph, with `store=sqlite`."
    )
    neo4j: Neo4jSettings = Neo4jSettings()
    index: Literal["numpy", "qdrant"] = Field(
        "numpy", description="Where vectors are searched: in this process, or on a Qdrant server."
    )
    qdrant: QdrantSettings = QdrantSettings()
    server: ServerSettings = ServerSettings()
    monitoring: MonitoringSettings = MonitoringSettings()
    web: WebSettings = WebSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    reasoner: Literal["offline", "openai"] = Field(
        "offline",
        description=(
            "What writes the texts: rules without a language model, or a model behind `openai`."
        ),
    )
    workflow: WorkflowSettings = Field(WorkflowSettings(), validate_default=True)
    reasoning_in: Literal["process", "loop"] = Field(
        "process",
        description="Where the offline reasoner computes on SQLite: in a child process, so that"
        " calls are answered meanwhile, or in the service's own event loop.",
    )
    embedder: Literal["fitted", "sentences", "openai"] = Field(
        "fitted",
        description=(
            "What turns texts into vectors: words fitted on your catalogue, the model in "
            "`sentences.folder`, or `openai.embeddings`."
        ),
    )
    sentences: SentenceOptions = SentenceOptions()
    openai: OpenAIOptions = OpenAIOptions()

    @field_validator("workflow")
    @classmethod
    def _shrink_buffer(cls, workflow: WorkflowSettings, info: ValidationInfo) -> WorkflowSettings:
        """Shrink an unset buffer to 3 messages for a language model."""
        if info.data.get("reasoner") != "openai" or "buffer" in workflow.model_fields_set:
            return workflow
        return workflow.model_copy(update={"buffer": 3})

    @property
    def graph_file(self) -> Path | None:
        """The graph's file; None if the graph is on a server."""
        return self.database if self.store == "sqlite" else None

    @property
    def graph(self) -> str:
        """Where the graph is, for people."""
        return str(self.graph_file or f"{self.neo4j.uri}/{self.neo4j.database}")


# RecNet as published: routers from attributes (2.2.1), one router an attribute (eq. 2), multicast
# by cosine (eq. 4). The paper's tau of .7 to .9 belongs to its own encoder and reaches hardly any
# client under ours, so `tau` stays the quantile until it is set.
PRESETS: Mapping[str, Mapping[str, object]] = {
    "paper": {
        "policy": "semantic",
        "taste.k": 20,
        "centres": "attributes",
        "evolve_every_rounds": 1,
    },
    # For models of a few hundred million parameters: each question is about one client, and asks
    # for little.
    "small-model": {
        "openai.fused": False,
        "openai.clients_a_call": 1,
        "openai.edits": 1,
        "openai.items": "titles",
        "openai.attributes": "known",
        "openai.context_tokens": 4_096,
        "openai.router_texts": "offline",
    },
}


def choose_path_redaction(settings: Settings) -> Callable[[str], str]:
    """Return a function that hides paths and servers' addresses in texts.

    It hides the path of the database file, and servers as settings or connection errors write them.
    """
    servers = {
        settings.neo4j.uri: "the graph's server",
        settings.qdrant.url: "the vector index",
        settings.openai.base_url: "the model's server",
        settings.openai.embeddings.base_url or "": "the embedder's server",
    }
    names = {
        place: name
        for url, name in servers.items()
        for place in (url, urlsplit(url).netloc)
        if place
    }
    names |= {
        str(settings.database): "the graph",
        str(settings.database.resolve()): "the graph",
    }
    # The longest first, so that a whole path is found before a part of it.
    places = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return lambda text: places.sub(lambda found: names[found[0]], text)
