"""Redaction of file paths and server addresses for callers that are not operators."""

from collections.abc import Callable
from urllib.parse import urlsplit

from services.config.settings import Settings


def path_redaction_for(settings: Settings) -> Callable[[str], str]:
    """Return a function that replaces the service's places in a text by words.

    Places are the database file, and the servers as settings and connection errors write them.
    """
    names = {str(settings.database.resolve()): "the graph", str(settings.database): "the graph"}
    servers = {
        settings.neo4j.uri: "the graph's server",
        settings.qdrant.url: "the vector index",
        settings.openai.base_url: "the model's server",
        settings.openai.embeddings.base_url or "": "the embedder's server",
    }
    for url, name in servers.items():
        names.update({place: name for place in (url, urlsplit(url).netloc) if place})
    longest_first = sorted(names.items(), key=lambda name: (-len(name[0]), name))

    def redact(text: str) -> str:
        for place, name in longest_first:
            text = text.replace(place, name)
        return text

    return redact
