"""Where a service keeps what it keeps: its operators are told, in errors and in GetStatus; other
callers are not."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from services.config.settings import Settings


class PathRedaction:
    """`names`: a place -> what other callers are told instead."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = sorted(names.items(), key=lambda name: (-len(name[0]), name))

    def redact(self, text: str) -> str:
        """The text as whoever is no operator may know it."""
        for place, name in self._names:
            text = text.replace(place, name)
        return text


NO_REDACTION = PathRedaction({})


def path_redaction_for(settings: Settings) -> PathRedaction:
    """The file, and the servers as their addresses stand in settings and in errors of connections."""
    names = {str(settings.database.resolve()): "the graph", str(settings.database): "the graph"}
    servers = {
        settings.neo4j.uri: "the graph's server",
        settings.qdrant.url: "the vector index",
        settings.openai.base_url: "the model's server",
    }
    if settings.openai.embeddings.base_url:
        servers[settings.openai.embeddings.base_url] = "the embedder's server"
    for url, name in servers.items():
        names.update({place: name for place in (url, urlsplit(url).netloc) if place})
    return PathRedaction(names)
