"""Settings to a reasoner and an embedder, and what goes with them."""

import os

from propagation.adapters.fallback.reasoner import StandingIn
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.openai.endpoint.budget import SpendingStore
from propagation.ports.embedder import Embedder
from propagation.ports.reasoner import Reasoner
from services.config.settings import Settings


def models_of(settings: Settings, store: SpendingStore, holder: str) -> tuple[Reasoner, Embedder]:
    """The offline ones, or models behind an endpoint, whose key is read from the environment here
    and nowhere else."""
    options = settings.openai
    offline: Reasoner = OfflineReasoner(settings.workflow.profile_lines)
    fitted: Embedder = HashedEmbedder(settings.workflow.seed)
    if settings.reasoner == "offline" and settings.embedder == "fitted":
        return offline, fitted
    from propagation.adapters.openai.build import openai_embedder, openai_endpoint, openai_reasoner

    endpoint = openai_endpoint(options, os.environ.get(options.key_variable), store, holder)
    embedder = openai_embedder(endpoint, store) if settings.embedder == "openai" else fitted
    if settings.reasoner == "offline":
        return offline, embedder
    model = openai_reasoner(endpoint, store)
    if options.stand_in == "never":
        return model, embedder
    return StandingIn(model, offline, unavailable=options.stand_in == "unavailable"), embedder
