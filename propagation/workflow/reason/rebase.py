"""Rebase of an interaction's answers onto texts that another writer changed.

Edits of different lines commute, so most answers apply without a second call of the reasoner
(`docs/design.md`, "The loop", step 3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from propagation.model import (
    AddLine,
    ClientText,
    DropLine,
    Edit,
    EditClash,
    FilterMemory,
    FilterRule,
    Profile,
    ReasonedInteraction,
    ReasonerFailed,
    ReplaceLine,
)
from propagation.optimization.client_optimization import apply_optimization
from propagation.ports import AnswerPart, MergeAnswer, OptimizeAnswer, Party
from propagation.reception.merge import Inbox, apply_merge
from propagation.workflow.reason.interaction import Draft, describe_client


def rebase_interaction(
    draft: Draft,
    done: ReasonedInteraction,
    newest: Mapping[int, ClientText],
    last_round: int,
    max_lines: int,
) -> ReasonedInteraction:
    """Apply a draft's answers to the newest texts.

    Raises:
        EditClash: A line or a filter rule that the answers edit has changed meanwhile.
    """
    rebased = Draft(dict(newest))
    for inbox, merge, party, optimization in zip(
        draft.inboxes, draft.merges, draft.parties, draft.optimizations, strict=True
    ):
        ref = party.client.ref
        moved: Mapping[int, int] = {}
        if ref in draft.first_edits and not rebased.now[ref].profile.version:
            rebased.add(ref, describe_client(rebased.now[ref], draft.first_edits[ref], max_lines))
        current = rebased.now[ref]
        # Messages that another writer has merged meanwhile are not merged again.
        is_waiting = current.watermark == inbox.text.watermark and inbox.messages
        if is_waiting and not isinstance(merge, ReasonerFailed):
            moved = _receive(rebased, inbox, merge, current, last_round, max_lines)
        answer = _rebase_optimization(optimization, party, rebased.now[ref], moved)
        rebased.add(ref, apply_optimization(rebased.now[ref], answer, max_lines))
    return replace(done, texts=tuple(rebased.written), merges=tuple(rebased.merged))


def _receive(
    rebased: Draft,
    inbox: Inbox,
    merge: MergeAnswer,
    current: ClientText,
    last_round: int,
    max_lines: int,
) -> Mapping[int, int]:
    """Merge the messages into the newest text.

    Returns:
        The new id of each line that the merge adds, by its id in the draft.
    """
    base, now = inbox.text.profile, current.profile
    answer = replace(merge, edits=rebase_edits(merge.edits, base, now, {}))
    reception = apply_merge(replace(inbox, text=current), answer, last_round, max_lines)
    rebased.add(current.profile.ref, reception.text)
    rebased.merged.extend(reception.merged)
    added = sum(isinstance(edit, AddLine) for edit in merge.edits)
    return {base.next_id + place: now.next_id + place for place in range(added)}


def _rebase_optimization(
    answer: AnswerPart[OptimizeAnswer], party: Party, current: ClientText, moved: Mapping[int, int]
) -> AnswerPart[OptimizeAnswer]:
    if isinstance(answer, ReasonerFailed):
        return answer
    _check_rules(answer.rules, party.filter_memory, current.filter_memory)
    return replace(answer, edits=rebase_edits(answer.edits, party.profile, current.profile, moved))


def rebase_edits(
    edits: Sequence[Edit], base: Profile, current: Profile, moved: Mapping[int, int]
) -> list[Edit]:
    """Convert edits of one profile version to edits of the current one.

    Args:
        base: The version that the edits were made for.
        moved: Ids of lines in the current version, by their other id in the edits.

    Raises:
        EditClash: An edited line has another text or weight than in `base`, or is gone.
    """
    before = {line.id: line for line in base.lines}
    now = {line.id: line for line in current.lines}
    rebased: list[Edit] = []
    for edit in edits:
        if isinstance(edit, AddLine):
            rebased.append(edit)
            continue
        old = edit.id if isinstance(edit, DropLine) else edit.line.id
        new = moved.get(old, old)
        if old not in before or new not in now or before[old].with_changes(id=new) != now[new]:
            raise EditClash(old)
        rebased.append(
            DropLine(id=new)
            if isinstance(edit, DropLine)
            else ReplaceLine(line=edit.line.with_changes(id=new))
        )
    return rebased


def _check_rules(rules: Sequence[FilterRule], base: FilterMemory, current: FilterMemory) -> None:
    """Check that the rules' targets have the same rules as before.

    Args:
        base: The memory that the rules were made for.

    Raises:
        EditClash: A target has another rule now.
    """
    for rule in rules:
        before = next((old for old in base.rules if old.target == rule.target), None)
        if before != next((old for old in current.rules if old.target == rule.target), None):
            raise EditClash(rule.router if rule.router is not None else 0)
