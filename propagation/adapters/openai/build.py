"""Reasoner and embedder of these options on a graph, on one endpoint with one limiter."""

from propagation.adapters.openai.answers import KeptAnswers
from propagation.adapters.openai.asking import Asking
from propagation.adapters.openai.embedder import OpenAIEmbedder
from propagation.adapters.openai.endpoint import Endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.reasoner import OpenAIReasoner
from propagation.adapters.openai.spending import Spending, SpendingStore
from propagation.adapters.openai.structured import Structured
from propagation.adapters.openai.unfused import UnfusedReasoner

KEPT_EMBEDDINGS = 20_000


def openai_reasoner(options: OpenAIOptions, key: str | None, store: SpendingStore, holder: str) -> OpenAIReasoner:
    """`store` keeps the budgets, the answers and what is known of the server; it is asked when the first question is."""
    endpoint = Endpoint(options, key, Spending(store, options, holder))
    asking = Asking(endpoint, Structured(endpoint, store), KeptAnswers(store, options.cached_answers))
    return OpenAIReasoner(endpoint, asking) if options.fused else UnfusedReasoner(endpoint, asking)


def openai_embedder(reasoner: OpenAIReasoner, store: SpendingStore, model: str, dimension: int,
                    places: int = KEPT_EMBEDDINGS) -> OpenAIEmbedder:
    """On the reasoner's endpoint; the graph keeps so many vectors."""
    return OpenAIEmbedder(reasoner.endpoint, store, model, dimension, places)
