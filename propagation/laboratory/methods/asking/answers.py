"""Asks several questions at a time, and reads their answers."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from propagation.adapters.openai.prompting import Question, count_data_tokens, count_tokens_in
from propagation.laboratory.methods.asking import Ask
from propagation.model import ReasonerFailed, ReasonerUnavailable

T = TypeVar("T")


async def ask_for_part(ask: Ask, question: Question, part: str) -> Any | None:
    """Ask a question, and return one part of the answer.

    Returns:
        What the part was read as; None if it is unusable, also after it was asked for once more.

    Raises:
        ReasonerUnavailable: The model answers no call now.
    """
    try:
        answered = await ask(question)
    except ReasonerUnavailable:
        raise
    except ReasonerFailed:
        return None
    found = answered.parts[part]
    return None if isinstance(found, ReasonerFailed) else found


async def run_together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all pieces of work at once; return their results in order.

    If a piece fails, the others go on until they end, so that their answers are kept. Then the
    first failure is raised. The endpoint's limiter bounds how many calls run.
    """
    tasks = [asyncio.ensure_future(piece) for piece in work]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [task.result() for task in tasks]


def count_prompt_tokens(question: Question) -> int:
    """Estimate the tokens of a question; the estimate is rather high."""
    return count_tokens_in(question.prompt.instructions) + count_data_tokens(question.document)
