"""Redaction: only operators see file paths and server addresses in errors."""

from pathlib import Path

import pytest

from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.openai.options import EmbeddingOptions, OpenAIOptions
from services.config.settings import QdrantSettings, Settings, choose_path_redaction

redact = choose_path_redaction(
    Settings(
        database=Path("/srv/secret/graph.db"),
        neo4j=Neo4jSettings(uri="bolt://neo4j:7687"),
        qdrant=QdrantSettings(url="https://vectors:6333"),
        openai=OpenAIOptions(
            base_url="http://models.local:8080/v1",
            embeddings=EmbeddingOptions(base_url="http://embed.local:81/v1"),
        ),
    )
)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (
            "/srv/secret/graph.db: database or disk is full; free space",
            "the graph: database or disk is full; free space",
        ),
        (
            (
                "bolt://neo4j:7687 does not answer (Couldn't connect to neo4j:7687); no answer "
                "within neo4j.answer_seconds"
            ),
            (
                "the graph's server does not answer (Couldn't connect to the graph's server); no "
                "answer within neo4j.answer_seconds"
            ),
        ),
        ("https://vectors:6333 asks", "the vector index asks"),
        ("http://models.local:8080/v1 says 500", "the model's server says 500"),
        ("http://embed.local:81/v1: no", "the embedder's server: no"),
        ("number is -1; routers are numbered from 0",) * 2,
    ],
)
def test_places_are_replaced_by_names(text, redacted):
    assert redact(text) == redacted
