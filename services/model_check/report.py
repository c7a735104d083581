"""The report of a check: its figures, and what follows from them."""

import math
from collections.abc import Iterator

from pydantic import BaseModel

from propagation.datasets.dataset import Dataset
from propagation.model import pluralize
from services.config.settings import Settings
from services.model_check.advice import (
    Estimate,
    SuitableSettings,
    choose_settings,
    estimate_costs,
    give_advice,
)
from services.model_check.figures import Figures, compute_figures
from services.model_check.run import CountProgress, ask_sample
from services.model_check.sample import draw_sample

SHOWN_AS_DAYS = 48


class ModelReport(BaseModel):
    """What a check found.

    Attributes:
        questions: How many questions were asked, without those that were asked again.
        settings: Settings that suit the model.
        notes: What is to be known of the data.
    """

    model: str
    data: str
    questions: int
    seed: int
    figures: Figures
    settings: SuitableSettings
    estimate: Estimate
    advice: str
    notes: tuple[str, ...]

    def describe(self) -> Iterator[str]:
        """Say in sentences what follows from the figures."""
        estimate, suitable, pace = self.estimate, self.settings, self.figures.pace
        money = (
            "no price is set (openai.price_prompt, openai.price_completion)"
            if estimate.money is None
            else f"{estimate.money:,.2f} in the currency of the prices"
        )
        yield (
            f"{pluralize(estimate.events, 'event')} and {pluralize(estimate.items, 'item')} take"
            f" about {_format_hours(estimate.hours)} at this pace and"
            f" {_format_tokens(estimate.tokens)}; {money}. Rounds and evolution come on top."
        )
        yield (
            f"Settings that suit: openai.clients_a_call={suitable.clients_a_call};"
            f" openai.in_flight={suitable.in_flight} (a call takes {pace.seconds_alone:.2f} s alone"
            f" and {pace.seconds_together:.2f} s beside others);"
            f" openai.context_tokens={suitable.context_tokens} or more."
        )
        yield self.advice


def _format_hours(hours: float) -> str:
    if hours < 1:
        return pluralize(math.ceil(hours * 60), "minute")
    days = f" ({hours / 24:,.0f} days)" if hours >= SHOWN_AS_DAYS else ""
    return f"{hours:,.1f} hours{days}"


def _format_tokens(tokens: float) -> str:
    return f"{tokens / 1e6:,.1f} million tokens" if tokens >= 1e6 else f"{tokens:,.0f} tokens"


async def measure_model(
    settings: Settings, dataset: Dataset, questions: int, seed: int, count_progress: CountProgress
) -> ModelReport:
    """Ask the model of the settings about a dataset, and report.

    Args:
        questions: About how many questions to ask.

    Raises:
        NothingToAsk: The dataset has too little to ask about.
        ReasonerUnavailable: The endpoint answers no call now.
        NothingUsable: The model's answers are never usable.
    """
    sample = await draw_sample(dataset, questions, seed)
    measured = await ask_sample(settings, sample, seed, count_progress)
    options = settings.openai
    figures = compute_figures(measured, options.in_flight)
    suitable = choose_settings(figures)
    priced = bool(options.price_prompt or options.price_completion)
    return ModelReport(
        model=options.model,
        data=dataset.name,
        questions=len(measured.questions),
        seed=seed,
        figures=figures,
        settings=suitable,
        estimate=estimate_costs(figures, suitable, sample.events, sample.items, priced=priced),
        advice=give_advice(
            figures, suitable, is_small=options.clients_a_call == 1 and not options.fused
        ),
        notes=sample.notes,
    )
