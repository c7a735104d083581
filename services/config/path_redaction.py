"""Redaction of file paths and server addresses for callers that are not operators."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from services.config.settings import Settings


class PathRedaction:
    """Replaces places in a text.

    Args:
        names: A path or address, and the words that stand for it.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = sorted(names.items(), key=lambda name: (-len(name[0]), name))

    def redact(self, text: str) -> str:
        """Replace every place, longer ones first."""
        for place, name in self._names:
            text = text.replace(place, name)
        return text


NO_REDACTION = PathRedaction({})


def path_redaction_for(settings: Settings) -> PathRedaction:
    """Redact the database file, and the servers as settings and connection errors write them."""
    names = {str(settings.database.resolve()): "the graph", str(settings.database): "the graph"}
    servers = {
        settings.neo4j.uri: "the graph's server",
        settings.qdrant.url: "the vector index",
        settings.openai.base_url: "the model's server",
        settings.openai.embeddings.base_url or "": "the embedder's server",
    }
    for url, name in servers.items():
        names.update({place: name for place in (url, urlsplit(url).netloc) if place})
    return PathRedaction(names)
