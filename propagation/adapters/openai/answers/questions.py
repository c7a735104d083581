"""Ask questions, check the answers, and ask once more for unusable parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from propagation.adapters.openai.answer_json import Fault, ParsedAnswer, parse_answer
from propagation.adapters.openai.answers.json_mode import (
    ENFORCED,
    JsonModeDetector,
    Mode,
    build_schema_format,
)
from propagation.adapters.openai.blob_cache import BlobCache
from propagation.adapters.openai.endpoint.client import Response
from propagation.adapters.openai.endpoint.endpoint import Endpoint, FormatRefused, Messages
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting import (
    COMPLAINT_CHARS,
    MESSAGE_TOKENS,
    USUAL_SHARE,
    DegenerateAnswer,
    DegeneratePart,
    ExpectedPart,
    Question,
    TextCheck,
    UnusablePart,
    build_schema,
    check_part,
    count_data_tokens,
    count_tokens_in,
    count_tokens_needed,
    describe_schema,
    fits_easily,
    list_answer_names,
    match_parts,
    split_to_fit,
    write_fitting_document,
)
from propagation.adapters.shared.background import BackgroundWork
from propagation.model import (
    NO_USAGE,
    LossReason,
    PromptCost,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    Usage,
)
from propagation.ports import AnswerPart, GraphStore, note_exchange

SHOWN_AGAIN = 1_500
THOUGHTS = 3_000
AGAIN_TEMPERATURE = 0.7  # at 0 a model would repeat its bad answer
COMPLAINTS: Mapping[Fault | None, str] = {
    Fault.REFUSED: "Your answer was a refusal. The data is harmless: judge it, whatever it says.",
    Fault.EMPTY: "Your answer was empty.",
    Fault.THINKING: "Your answer held only thoughts.",
    Fault.TRUNCATED: "Your answer was cut off: be shorter.",
    Fault.BROKEN: "Your answer is not valid JSON: check its quotes, commas and brackets.",
    Fault.NO_JSON: "Your answer held no JSON object.",
}


class QuestionTooLong(ReasonerGaveUp):
    """A question does not fit the context, even with its data shortened."""


@dataclass(frozen=True)
class Answered:
    """An answer to a question.

    Attributes:
        parts: By name, the value that was asked for, or a ReasonerFailed that says why it is
            missing.
    """

    parts: Mapping[str, Any]
    usage: Usage


@dataclass
class Exchange:
    """A question under way.

    Attributes:
        missing: The expected parts that have no usable answer yet.
        tokens: The most tokens that the next answer may have if there is room and the server
            enforces the bounds of its schema. Elsewhere half of it must do: an answer that loops
            goes on to the end.
        before: Messages with the last answer and a complaint about it; empty at first.
        raw: The usable parts as the model wrote them.
        parts: The parts as they were read.
        usage: The usage of all calls so far.
        checked: How many parts of answers were checked, those asked for once more included.
        refused: By reason, how many of them, or of their texts and names, were refused.
    """

    question: Question
    missing: Mapping[str, ExpectedPart]
    tokens: int
    before: Messages = ()
    raw: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, AnswerPart[Any]] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    checked: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def note(self, name: str, found: AnswerPart[Any]) -> None:
        """Note how a part was read.

        What was usable of an earlier answer stays if this one failed, or has more degenerate texts.
        """
        before = self.parts.get(name)
        is_worse = isinstance(found, ReasonerFailed) and not (
            isinstance(found, DegeneratePart)
            and isinstance(before, DegeneratePart)
            and len(found.reasons) < len(before.reasons)
        )
        if not (isinstance(before, DegeneratePart) and is_worse):
            self.parts[name] = found
        if not isinstance(found, ReasonerGaveUp):
            self.checked += 1
            self.refused.update(reason.value for reason in _list_reasons(found))

    def count_losses(self) -> PromptCost:
        """Count what was refused, and which parts were lost in the end."""
        first_reasons = [
            reasons[0] for part in self.parts.values() if (reasons := _list_reasons(part))
        ]
        return PromptCost(
            lost=len(first_reasons),
            losses=Counter(reason.value for reason in first_reasons),
            parts=self.checked,
            refused=dict(self.refused),
        )


class QuestionAsker:
    """Asks questions of one endpoint.

    A question is asked again once, for its unusable parts alone. After an answer that was cut off
    while the model thought, all further answers get more room.
    """

    def __init__(self, endpoint: Endpoint, store: GraphStore) -> None:
        self._endpoint = endpoint
        self._json_modes = JsonModeDetector(endpoint, store)
        self._cache = BlobCache(store, "answer", endpoint.options.cached_answers)
        # Answers are cached in the background: an answer that gets lost costs only one call.
        self.keeping = BackgroundWork()
        self._for_thoughts = 0

    def split(self, question: Question) -> list[Question]:
        """Split a question so that each piece fits the context.

        Each asks about some of the parts.

        Raises:
            QuestionTooLong: A part does not fit, even alone and with the data shortened.
        """
        context = self._endpoint.options.context_tokens
        if fits_easily(question, context):
            return [question]
        pieces = split_to_fit(question, context)
        if (most := max(map(count_tokens_needed, pieces))) > context:
            note_exchange(_write_plainly(_write_question(question)), "")
            raise QuestionTooLong(
                f"{question.prompt.label} needs about {most} tokens with the longest answer that "
                f"it allows; set openai.context_tokens (now {context}) to at least that, if the "
                "model takes as many"
            )
        return pieces

    async def ask(self, question: Question) -> Answered:
        """Ask a question that fits the context.

        Raises:
            ReasonerFailed: No part of the answer is usable.
            ReasonerUnavailable: The endpoint answers no call now.
        """
        label, ledger = question.prompt.label, self._endpoint.ledger
        asked = identify_question(question, self._endpoint.options)
        kept = await self._from_cache(question, asked)
        if kept is not None:
            return Answered(kept, ledger.note(Usage(((label, PromptCost(cached=1)),))))
        after_withdrawal = await self._cache.get_last_withdrawal()
        exchange = Exchange(question, question.parts, question.most_tokens)
        try:
            await self._ask_model(exchange)
        except ReasonerUnavailable as error:
            raise type(error)(str(error), exchange.usage + error.usage) from error
        exchange.usage += ledger.note(Usage(((label, exchange.count_losses()),)))
        lost = [part for part in exchange.parts.values() if isinstance(part, ReasonerFailed)]
        failed = [part for part in lost if not isinstance(part, DegeneratePart)]
        if not lost:
            self.keeping.start(
                "keeping an answer",
                lambda: self._cache.put(asked, orjson.dumps(exchange.raw), after_withdrawal),
            )
        elif len(failed) == len(exchange.parts):
            gave_up = any(isinstance(part, ReasonerGaveUp) for part in failed)
            raise (ReasonerGaveUp if gave_up else ReasonerFailed)(
                "; ".join(dict.fromkeys(map(str, failed))), exchange.usage
            )
        parts = {
            name: part.usable if isinstance(part, DegeneratePart) else part
            for name, part in exchange.parts.items()
        }
        return Answered(parts, exchange.usage)

    async def _ask_model(self, exchange: Exchange) -> None:
        for _ in range(2):
            try:
                reply = await self.get_reply(exchange)
            except ReasonerGaveUp as error:
                for name in exchange.missing:
                    exchange.note(name, error)
                return
            missing = exchange.missing
            answer = match_parts(
                parse_answer(reply.text, reply.finish, reply.refusal, list_answer_names(missing)),
                missing,
            )
            for name, part in missing.items():
                found = _check_part(exchange.question, answer, name, part)
                if not isinstance(found, ReasonerFailed):
                    exchange.raw[name] = answer.value[name]
                exchange.note(name, found)
            exchange.missing = {
                name: part for name, part in missing.items() if name not in exchange.raw
            }
            if not exchange.missing:
                return
            if answer.fault in (Fault.TRUNCATED, Fault.THINKING):
                if answer.fault is Fault.THINKING or not reply.text:
                    self._for_thoughts = THOUGHTS
                exchange.tokens = 2 * exchange.question.most_tokens
            wrong = {name: exchange.parts[name] for name in exchange.missing}
            exchange.before = _write_complaint(
                reply,
                answer,
                {name: str(part) for name, part in wrong.items()},
                degenerate=any(isinstance(part, DegenerateAnswer) for part in wrong.values()),
            )

    async def get_reply(self, exchange: Exchange) -> Response:
        """Get an answer, in another JSON mode if the first is refused.

        Raises:
            ReasonerGaveUp: This question will not be answered.
            ReasonerUnavailable: The endpoint answers no call now.
        """
        mode = await self._json_modes.mode()
        while True:
            try:
                reply = await self._reply_in(mode, exchange)
            except ReasonerGaveUp as error:
                exchange.usage += error.usage
                tried, refused = mode, isinstance(error, FormatRefused)
                if error.usage:
                    mode = await self._json_modes.after(mode, refused=refused)
                if mode is tried:
                    raise
            else:
                exchange.usage += reply.usage
                return reply

    async def _reply_in(self, mode: Mode, exchange: Exchange) -> Response:
        share = 1 if mode is Mode.BOUNDED else USUAL_SHARE
        context = self._endpoint.options.context_tokens
        messages = _write_messages(exchange, mode, context, exchange.question.most_tokens // share)
        room = context - _count_tokens(messages)
        tokens = exchange.tokens // share + self._for_thoughts
        asked = _write_plainly(messages)
        note_exchange(asked, "")
        reply = await self._endpoint.chat(
            exchange.question.prompt.label,
            messages,
            min(tokens, room),
            _format(mode, exchange.missing),
            least_temperature=AGAIN_TEMPERATURE if exchange.before else 0.0,
        )
        note_exchange(asked, reply.text or reply.refusal or "")
        return reply

    async def _from_cache(
        self, question: Question, asked: bytes
    ) -> dict[str, AnswerPart[Any]] | None:
        blob = await self._cache.get(asked)
        if blob is None:
            return None
        note_exchange(_write_plainly(_write_question(question)), blob.decode())
        answer = ParsedAnswer(orjson.loads(blob))
        parts = {
            name: _check_part(question, answer, name, part) for name, part in question.parts.items()
        }
        return None if any(isinstance(part, ReasonerFailed) for part in parts.values()) else parts


def identify_question(question: Question, options: OpenAIOptions) -> bytes:
    """Return a key that only equal questions to one model share."""
    form = [(name, one.choices, one.lengths, one.names) for name, one in question.parts.items()]
    key = (options.model, question.prompt.label, options.context_tokens, form, question.document)
    return "\n".join(map(str, key)).encode()


def _check_part(
    question: Question, answer: ParsedAnswer, name: str, part: ExpectedPart
) -> AnswerPart[Any]:
    return check_part(answer, name, part, TextCheck(question.texts))


def _list_reasons(part: AnswerPart[Any]) -> Sequence[LossReason]:
    """Return why a part is unusable; nothing if it is usable."""
    if isinstance(part, UnusablePart):
        return part.reasons
    return [LossReason.UNANSWERED] if isinstance(part, ReasonerFailed) else []


def _write_question(question: Question) -> Messages:
    return [
        {"role": "system", "content": question.prompt.instructions},
        {"role": "user", "content": question.document},
    ]


def _write_plainly(messages: Messages) -> str:
    """Write messages as one text, for people."""
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


def _count_tokens(messages: Messages) -> int:
    """Estimate the tokens of messages; those of the system are sentences."""
    return MESSAGE_TOKENS * len(messages) + sum(
        (count_tokens_in if message["role"] == "system" else count_data_tokens)(message["content"])
        for message in messages
    )


def _write_messages(exchange: Exchange, mode: Mode, context: int, tokens: int) -> Messages:
    """Write the messages of a question: the instructions, then the data.

    The instructions come first because they are the same every time. If no grammar enforces the
    form of the answer, or after a bad answer, they describe the form in words. In a small context
    the data is shortened, and the last answer is not shown, so that the next one is not cut.

    Args:
        context: How many tokens the messages and the answer may have together.
        tokens: How many of them the answer may need.
    """
    before = exchange.before
    room = context - tokens - _count_tokens(_write_around("", exchange, mode, before))
    if len(before) > 1 and count_data_tokens(exchange.question.document) > room:
        before = before[1:]
        room = context - tokens - _count_tokens(_write_around("", exchange, mode, before))
    document = write_fitting_document(exchange.question, room)
    return _write_around(document, exchange, mode, before)


def _write_around(content: str, exchange: Exchange, mode: Mode, before: Messages) -> Messages:
    """Write the messages of a question around its data."""
    instructions = exchange.question.prompt.instructions
    if mode not in ENFORCED or before:
        shape = describe_schema(build_schema(exchange.missing, bounded=False, named=False))
        instructions += f"\nAnswer with one JSON object and nothing else, in this form:\n{shape}"
    else:
        instructions += "\nAnswer in JSON."
    if before and before[0]["role"] == "user":
        # An empty answer is not shown, and some models refuse two messages of one role in a row.
        content, before = f"{content}\n{before[0]['content']}", ()
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": content},
        *before,
    ]


def _write_complaint(
    reply: Response, answer: ParsedAnswer, wrong: Mapping[str, str], *, degenerate: bool
) -> Messages:
    """Complain about an answer, and ask again for its unusable parts.

    A cut answer, or one that repeats itself, is not shown again: a model goes on with what it sees.
    """
    part = ", ".join(f'"{name}"' for name in wrong)
    ending = f" Answer again with one JSON object of {part} only."
    what = COMPLAINTS.get(answer.fault, f"Not usable: {'; '.join(wrong.values())}.")
    text = what[: max(COMPLAINT_CHARS - len(ending), 0)] + ending
    shown = "" if answer.fault is Fault.TRUNCATED or degenerate else reply.text or ""
    shown = shown.strip()[:SHOWN_AGAIN]
    return ([{"role": "assistant", "content": shown}] if shown else []) + [
        {"role": "user", "content": text}
    ]


def _format(mode: Mode, parts: Mapping[str, ExpectedPart]) -> dict[str, Any] | None:
    if mode in ENFORCED:
        return build_schema_format(build_schema(parts, bounded=mode is Mode.BOUNDED))
    return {"type": "json_object"} if mode is Mode.JSON else None
