"""Reasoner and embedder of these options on a graph: one endpoint with one limiter for both, where
they have one address."""

from propagation.adapters.openai.answers.answer_cache import AnswerCache
from propagation.adapters.openai.answers.json_mode import JsonModeDetector
from propagation.adapters.openai.answers.questions import QuestionAsker
from propagation.adapters.openai.embedder import OpenAIEmbedder
from propagation.adapters.openai.endpoint.budget import BudgetLedger, LedgerStore
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import PaperReasoner
from propagation.adapters.openai.reasoner import OpenAIReasoner


def openai_endpoint(
    options: OpenAIOptions, key: str | None, store: LedgerStore, holder: str
) -> Endpoint:
    """`store` keeps the budgets; it is asked when the first question is."""
    return Endpoint(options, key, BudgetLedger(store, options, holder))


def openai_reasoner(endpoint: Endpoint, store: LedgerStore) -> OpenAIReasoner:
    """`store` keeps the answers, and what is known of the server."""
    options = endpoint.options
    asking = QuestionAsker(
        endpoint, JsonModeDetector(endpoint, store), AnswerCache(store, options.cached_answers)
    )
    return OpenAIReasoner(endpoint, asking) if options.fused else PaperReasoner(endpoint, asking)


def openai_embedder(endpoint: Endpoint, store: LedgerStore) -> OpenAIEmbedder:
    """On the reasoner's endpoint; one of its own, with the same budgets, where the options give
    embeddings another address."""
    options = endpoint.options
    address = options.embeddings.base_url
    if address is not None and address != options.base_url:
        endpoint = endpoint.with_address(address)
    return OpenAIEmbedder(endpoint, store, options.embeddings)
