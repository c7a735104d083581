"""Questions: asked, read, checked part by part, and asked once more for unusable parts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from propagation.adapters.openai.answer_json import Fault, ParsedAnswer, parse_answer
from propagation.adapters.openai.answers.answer_cache import AnswerCache
from propagation.adapters.openai.answers.json_mode import (
    ENFORCED,
    JsonModeDetector,
    Mode,
    schema_format,
)
from propagation.adapters.openai.endpoint.endpoint import Endpoint, FormatRefused, Messages, Reply
from propagation.adapters.openai.prompting import (
    Question,
    Wanted,
    build_schema,
    check_part,
    describe_shape,
    document,
    list_answer_names,
    match_parts,
    tokens_in,
)
from propagation.model import (
    NO_USAGE,
    PromptCost,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    Usage,
)
from propagation.ports import AnswerPart

SHOWN_AGAIN = 1_500
THOUGHTS = 3_000
AGAIN_TEMPERATURE = 0.7  # what a model answered badly at 0 it answers the same way at 0


@dataclass(frozen=True)
class Answered:
    """Every part that was asked for, or why it is missing."""

    parts: Mapping[str, AnswerPart[Any]]
    usage: Usage


class QuestionAsker:
    """Asks questions of one endpoint.

    A question is asked again once, for its unusable parts alone. After an answer that was cut off
    while the model thought, answers get more room.
    """

    def __init__(
        self, endpoint: Endpoint, json_modes: JsonModeDetector, cache: AnswerCache
    ) -> None:
        self._endpoint = endpoint
        self._json_modes = json_modes
        self._cache = cache
        self._for_thoughts = 0

    async def close(self) -> None:
        """Wait until all answers are in the cache."""
        await self._cache.close()

    async def ask(self, question: Question) -> Answered:
        """Ask a question.

        Raises:
            ReasonerFailed: No part of the answer is usable.
            ReasonerUnavailable: Nothing is answered now.
        """
        data = document(question.data)
        label = question.prompt.label
        asked = (
            f"{self._endpoint.options.model}\n{label}\n{sorted(question.parts)}\n{data}".encode()
        )
        found = await self._from_cache(question, asked)
        if found is not None:
            return Answered(
                found, self._endpoint.ledger.note(Usage(((label, PromptCost(cached=1)),)))
            )
        raw, parts, usage = await self._ask_model(question, data)
        failed = {name: part for name, part in parts.items() if isinstance(part, ReasonerFailed)}
        if not failed:
            self._cache.put(asked, raw)
            return Answered(parts, usage)
        if len(failed) == len(parts):
            hopeless = any(isinstance(part, ReasonerGaveUp) for part in failed.values())
            kind = ReasonerGaveUp if hopeless else ReasonerFailed
            raise kind("; ".join(dict.fromkeys(str(part) for part in failed.values())), usage)
        return Answered(
            parts,
            usage + self._endpoint.ledger.note(Usage(((label, PromptCost(lost=len(failed))),))),
        )

    async def _ask_model(
        self, question: Question, data: str
    ) -> tuple[dict[str, Any], dict[str, AnswerPart[Any]], Usage]:
        raw: dict[str, Any] = {}
        parts: dict[str, AnswerPart[Any]] = {}
        missing: Mapping[str, Wanted] = question.parts
        usage, tokens = NO_USAGE, question.tokens + self._for_thoughts
        before: Messages = ()
        for _ in range(2):
            try:
                reply = await self._reply(question, data, missing, before, tokens)
            except ReasonerUnavailable as error:
                raise type(error)(str(error), usage + error.usage) from error
            except ReasonerFailed as error:
                usage += error.usage
                parts.update({name: error for name in missing if name not in raw})
                break
            usage += reply.usage
            answer = match_parts(
                parse_answer(reply.text, reply.finish, reply.refusal, list_answer_names(missing)),
                missing,
            )
            for name, wanted in missing.items():
                parts[name] = check_part(answer, name, wanted)
                if not isinstance(parts[name], ReasonerFailed):
                    raw[name] = answer.value[name]
            missing = {name: wanted for name, wanted in missing.items() if name not in raw}
            if not missing:
                break
            if answer.fault in (Fault.TRUNCATED, Fault.THINKING):
                if answer.fault is Fault.THINKING or not reply.text:
                    self._for_thoughts = THOUGHTS
                tokens = 2 * question.tokens + self._for_thoughts
            before = _complaint(reply, answer, {name: str(parts[name]) for name in missing})
        return raw, parts, usage

    async def _reply(
        self,
        question: Question,
        data: str,
        missing: Mapping[str, Wanted],
        before: Messages,
        tokens: int,
    ) -> Reply:
        async def asked(mode: Mode) -> Reply:
            messages = _messages(question, data, missing, before, mode)
            about = sum(tokens_in(message["content"]) for message in messages)
            room = self._endpoint.options.context_tokens - about
            if room < min(tokens, 100):
                raise ReasonerGaveUp(
                    f"the prompt has about {about} tokens; openai.context_tokens leaves no room "
                    "for an answer"
                )
            return await self._endpoint.chat(
                question.prompt.label,
                messages,
                min(tokens, room),
                _format(mode, missing),
                least_temperature=AGAIN_TEMPERATURE if before else 0.0,
            )

        mode, usage = await self._json_modes.mode(), NO_USAGE
        while True:
            try:
                reply = await asked(mode)
                return replace(reply, usage=usage + reply.usage)
            except ReasonerGaveUp as error:
                usage += error.usage
                before_it = mode
                if error.usage:
                    mode = await self._other_mode(mode, error, usage)
                if mode is before_it:
                    raise ReasonerGaveUp(str(error), usage) from error
            except ReasonerUnavailable as error:
                raise type(error)(str(error), usage + error.usage) from error

    async def _other_mode(self, mode: Mode, error: ReasonerGaveUp, usage: Usage) -> Mode:
        try:
            return await self._json_modes.after(mode, refused=isinstance(error, FormatRefused))
        except ReasonerUnavailable as nobody:
            raise type(nobody)(str(nobody), usage + nobody.usage) from nobody

    async def _from_cache(
        self, question: Question, asked: bytes
    ) -> dict[str, AnswerPart[Any]] | None:
        value = await self._cache.get(asked)
        if value is None:
            return None
        parts = {
            name: check_part(ParsedAnswer(value), name, wanted)
            for name, wanted in question.parts.items()
        }
        return None if any(isinstance(part, ReasonerFailed) for part in parts.values()) else parts


def _messages(
    question: Question, data: str, missing: Mapping[str, Wanted], before: Messages, mode: Mode
) -> Messages:
    """Put the instructions first, which are the same every time, then the data.

    Without a grammar the form of the answer is described in words.
    """
    instructions = question.prompt.instructions
    if mode not in ENFORCED or before:
        shape = describe_shape(missing)
        instructions += f"\nAnswer with one JSON object and nothing else, in this form:\n{shape}"
    else:
        instructions += "\nAnswer in JSON."
    asked = [{"role": "user", "content": data}, *before]
    if (
        before and before[0]["role"] == "user"
    ):  # of an empty answer nothing is shown, and some models take no two of one role
        asked = [{"role": "user", "content": f"{data}\n{before[0]['content']}"}]
    return [{"role": "system", "content": instructions}, *asked]


def _complaint(reply: Reply, answer: ParsedAnswer, wrong: Mapping[str, str]) -> Messages:
    """Show the answer and what is wrong with it; ask for the unusable parts only."""
    why = (
        {
            Fault.REFUSED: "Your answer was a refusal."
            " The data is harmless: judge it, whatever it says.",
            Fault.EMPTY: "Your answer was empty.",
            Fault.THINKING: "Your answer held thoughts only.",
            Fault.TRUNCATED: "Your answer was cut: be shorter.",
            Fault.BROKEN: "Your answer is no valid JSON: a sign in it is missing or too many.",
            Fault.NO_JSON: "Your answer held no JSON object.",
        }.get(answer.fault)
        if answer.fault
        else None
    )
    wanted = ", ".join(json.dumps(name) for name in wrong)
    what = why or f"Not usable: {'; '.join(wrong.values())}."
    text = f"{what} Answer again with one JSON object of {wanted} only."
    shown = (reply.text or "").strip()[:SHOWN_AGAIN]
    return ([{"role": "assistant", "content": shown}] if shown else []) + [
        {"role": "user", "content": text}
    ]


def _format(mode: Mode, parts: Mapping[str, Wanted]) -> dict[str, Any] | None:
    if mode in ENFORCED:
        return schema_format(build_schema(parts, bounded=mode is Mode.BOUNDED))
    return {"type": "json_object"} if mode is Mode.JSON else None
