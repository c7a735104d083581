"""Settings to a reasoner, and what goes with it."""

import os

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.openai.spending import SpendingStore
from propagation.adapters.standing_in import StandingIn
from propagation.ports.reasoner import Reasoner
from propagation.workflow.settings import WorkflowSettings
from services.settings import Settings

BUFFER_OF_A_MODEL = 3


def workflow_of(settings: Settings) -> WorkflowSettings:
    """A buffer holds 3 messages with a language model, unless it is told."""
    workflow = settings.workflow
    if settings.reasoner == "offline" or "buffer" in workflow.model_fields_set:
        return workflow
    return workflow.model_copy(update={"buffer": BUFFER_OF_A_MODEL})


def reasoner_of(settings: Settings, store: SpendingStore, holder: str) -> Reasoner:
    """The offline one, or a model behind an endpoint, whose key is read from the environment here and nowhere else."""
    options = settings.openai
    offline = OfflineReasoner(settings.workflow.profile_lines)
    if settings.reasoner == "offline":
        return offline
    from propagation.adapters.openai.build import openai_reasoner

    model = openai_reasoner(options, os.environ.get(options.key_variable), store, holder)
    if options.stand_in == "never":
        return model
    return StandingIn(model, offline, unavailable=options.stand_in == "unavailable")
