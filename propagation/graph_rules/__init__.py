"""Rules of the graph that every store follows.

Pure functions on model types, without I/O.
"""

from propagation.graph_rules.citation_search import (
    CitationMatcher,
    VersionsToSearch,
    Written,
    find_spans,
    list_rule_words,
)
from propagation.graph_rules.claims import (
    Draw,
    DrawColumns,
    build_reason_works,
    choose_interactions,
    count_pending_to_fetch,
    find_dead_letters,
    find_reasoned_through,
    list_drawn_items,
    read_draws,
)
from propagation.graph_rules.client_upsert import list_keys_to_create, merge_changes
from propagation.graph_rules.commit_checks import (
    check_block_follows,
    check_claim,
    check_lease,
    check_no_withdrawal,
    check_orphans,
    check_round_follows,
    check_staged,
    check_texts_follow,
    check_uncited,
)
from propagation.graph_rules.event_outcome import (
    EventDecisions,
    NamedClient,
    RecordedEvent,
    decide_event_states,
    list_clients_of_event,
)
from propagation.graph_rules.name_matching import OwnWords, list_titles, names_one, split_sentences
from propagation.graph_rules.retention import (
    MessageState,
    list_outdated_checkpoints,
    may_drop_edge,
    may_drop_merges,
    may_drop_message,
    may_drop_text,
)
from propagation.graph_rules.search_words import (
    holds_words,
    list_search_words,
    list_words_of,
    name_word_rules,
    split_words,
)
from propagation.graph_rules.withdrawal_order import (
    KINDS_WITH_OTHERS,
    WithdrawalStep,
    choose_affected_keys,
    choose_counted_attributes,
    find_indebted_routers,
    find_lost_attributes,
    list_entries,
    list_held_attributes,
    order_withdrawal_steps,
)
