"""What a reasoner said of an interaction, applied to texts that moved on meanwhile: no second call
where edits commute."""

from collections.abc import Mapping
from dataclasses import replace

from propagation.model.clients.client_text import ClientText
from propagation.model.errors import ReasonerFailed
from propagation.model.interactions.reasoning import ReasonedInteraction
from propagation.optimization.client_optimization import optimized
from propagation.optimization.rebase import check_rules, moved_ids, rebased
from propagation.ports.reasoner import AnswerPart, MergeAnswer, OptimizeAnswer
from propagation.reception.initial_profile import described
from propagation.reception.merge import Inbox, received
from propagation.workflow.reason.interaction import Draft


def on_newer_texts(
    draft: Draft,
    done: ReasonedInteraction,
    newest: Mapping[int, ClientText],
    last_round: int,
    max_lines: int,
) -> ReasonedInteraction:
    """`done` as it would be on the newest texts. Raises EditClash where a line that was edited
    reads otherwise by now."""
    fresh = Draft(dict(newest))
    for waits, merge, party, learned in zip(
        draft.inboxes, draft.merges, draft.parties, draft.learned, strict=True
    ):
        ref = party.client.ref
        moved: dict[int, int] = {}
        if ref in draft.first and not fresh.now[ref].profile.version:
            fresh.take(ref, described(fresh.now[ref], draft.first[ref], max_lines))
        before = fresh.now[ref]
        if before.watermark == waits.text.watermark and waits.messages:
            moved = _receive(fresh, waits, merge, before, last_round, max_lines)
        fresh.take(
            ref, optimized(fresh.now[ref], _learned(learned, draft, ref, fresh, moved), max_lines)
        )
    return replace(done, texts=tuple(fresh.written), merges=tuple(fresh.merged))


def _receive(
    fresh: Draft,
    waits: Inbox,
    merge: AnswerPart[MergeAnswer],
    before: ClientText,
    last_round: int,
    max_lines: int,
) -> dict[int, int]:
    """Reception on the newest text; the new ids of lines it adds. What another has received
    meanwhile is not received again."""
    ref = before.profile.ref
    moved: dict[int, int] = {}
    if not isinstance(merge, ReasonerFailed):
        moved = moved_ids(merge.edits, waits.text.profile, before.profile)
        merge = replace(merge, edits=rebased(merge.edits, waits.text.profile, before.profile, {}))
    reception = received(replace(waits, text=before), merge, last_round, max_lines)
    fresh.take(ref, reception.text)
    fresh.merged.extend(reception.merged)
    return moved


def _learned(
    learned: AnswerPart[OptimizeAnswer],
    draft: Draft,
    ref: int,
    fresh: Draft,
    moved: Mapping[int, int],
) -> AnswerPart[OptimizeAnswer]:
    if isinstance(learned, ReasonerFailed):
        return learned
    [seen] = [party for party in draft.parties if party.client.ref == ref]
    now = fresh.now[ref]
    check_rules(learned.rules, seen.filter_memory, now.filter_memory)
    return replace(learned, edits=rebased(learned.edits, seen.profile, now.profile, moved))
