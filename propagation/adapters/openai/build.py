"""Reasoner and embedder of these options on a graph: one endpoint with one limiter for both, where
they have one address."""

from propagation.adapters.openai.answers.answer_cache import KeptAnswers
from propagation.adapters.openai.answers.json_mode import Structured
from propagation.adapters.openai.answers.questions import Asking
from propagation.adapters.openai.embedder import OpenAIEmbedder
from propagation.adapters.openai.endpoint.budget import Spending, SpendingStore
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import UnfusedReasoner
from propagation.adapters.openai.reasoner import OpenAIReasoner


def openai_endpoint(
    options: OpenAIOptions, key: str | None, store: SpendingStore, holder: str
) -> Endpoint:
    """`store` keeps the budgets; it is asked when the first question is."""
    return Endpoint(options, key, Spending(store, options, holder))


def openai_reasoner(endpoint: Endpoint, store: SpendingStore) -> OpenAIReasoner:
    """`store` keeps the answers, and what is known of the server."""
    options = endpoint.options
    asking = Asking(
        endpoint, Structured(endpoint, store), KeptAnswers(store, options.cached_answers)
    )
    return OpenAIReasoner(endpoint, asking) if options.fused else UnfusedReasoner(endpoint, asking)


def openai_embedder(endpoint: Endpoint, store: SpendingStore) -> OpenAIEmbedder:
    """On the reasoner's endpoint; one of its own, with the same budgets, where the options give
    embeddings another address."""
    options = endpoint.options
    address = options.embeddings.base_url
    if address is not None and address != options.base_url:
        endpoint = endpoint.elsewhere(address)
    return OpenAIEmbedder(endpoint, store, options.embeddings)
