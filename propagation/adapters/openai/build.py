"""The reasoner and the embedder of an endpoint.

They share one endpoint with one rate limiter, unless embeddings have an address of their own.
"""

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
    """Build the endpoint; `store` keeps the budgets, `holder` names this process."""
    return Endpoint(options, key, BudgetLedger(store, options, holder))


def openai_reasoner(endpoint: Endpoint, store: LedgerStore) -> OpenAIReasoner:
    """Build the reasoner; `store` keeps answers, and what is known of the server."""
    build = OpenAIReasoner if endpoint.options.fused else PaperReasoner
    return build(endpoint, QuestionAsker(endpoint, store))


def openai_embedder(endpoint: Endpoint, store: LedgerStore) -> OpenAIEmbedder:
    """Build the embedder on the reasoner's endpoint.

    It gets an endpoint of its own, with the same budgets, if embeddings have another address.
    """
    options = endpoint.options
    address = options.embeddings.base_url
    if address is not None and address != options.base_url:
        options = options.model_copy(update={"base_url": address})
        endpoint = Endpoint(options, endpoint.key, endpoint.ledger)
    return OpenAIEmbedder(endpoint, store, options.embeddings)
