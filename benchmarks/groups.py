"""The groups of figures, and the module that measures each group."""

from collections.abc import Mapping

BENCH: Mapping[str, tuple[str, ...]] = {
    "ingest": (
        "ingest_batch_events_per_s",
        "ingest_single_events_per_s",
        "ingest_stream_events_per_s",
    ),
    "process": ("process_interactions_per_s", "process_cost_ratio_100k_over_1k_clients"),
    "reading": (
        "recommend_p50_ms",
        "recommend_p99_ms",
        "recommend_overlap",
        "recommend_per_s",
        "get_profile_p99_ms",
    ),
    "probe": ("event_to_recommendation_s",),
    "start": ("rss_mb_100k_clients", "start_s_100k_clients"),
    "recommend_ml100k": ("recommend_ml100k_p50_ms", "recommend_ml100k_per_s"),
    "web": (
        "web_first_view_s",
        "web_slowest_view_s",
        "web_recommend_p99_change_pct",
        "web_ingest_change_pct",
    ),
    "quality": (
        "n10_off",
        "n10_placebo",
        "n10_adoption",
        "delta",
        "delta_t",
        "n10_offk",
        "n10_offk_adoption",
        "n10_rules",
        "n10_text",
    ),
}
# `make bench-llm`: the cost of a language model.
LLM: Mapping[str, tuple[str, ...]] = {
    "llm": (
        "llm_calls_per_interaction",
        "llm_prompt_tokens_per_interaction",
        "llm_completion_tokens_per_interaction",
        "llm_500_interactions_s_at_500ms",
        "llm_overhead_ms_per_call",
        "llm_calls_ratio_under_faults",
        "llm_lost",
        "llm_doubled",
        "llm_read_p99_ms",
    ),
}
# `make bench-life`: figures that matter to a service that runs for months. The keys of a missing
# module are null.
LIFE: Mapping[str, tuple[str, ...]] = {
    "leave_one_out": (
        "loo_n10_10",
        "loo_n10_100",
        "loo_shuffled_n10_10",
        "loo_delta_10",
        "loo_placebo_delta_10",
    ),
    "evolving": ("evolution_s_100k_clients", "recommend_p99_during_evolution_ms"),
    "forgetting": ("forget_s", "forget_and_wipe_s"),
    "backup": ("backup_s_1m_interactions", "recommend_p99_during_backup_ms"),
    "size": ("file_bytes_per_interaction",),
    "soak": ("soak_rss_growth_pct",),
    "membership": ("membership_advantage_read",),
}
# `make bench-neo4j`: the service on a graph server, which the benchmark starts. The keys of a
# missing module are null.
NEO4J: Mapping[str, tuple[str, ...]] = {
    "neo4j_ingest": ("neo4j_ingest_batch_events_per_s",),
    "neo4j_process": ("neo4j_process_interactions_per_s", "neo4j_round_trips_per_interaction"),
    "neo4j_probe": ("neo4j_event_to_recommendation_s",),
    "neo4j_rounds": (
        "neo4j_first_table_s_100k_clients",
        "neo4j_round_s_1k_changed_of_100k",
        "neo4j_round_s_1k_changed_of_100k_semantic",
        "neo4j_round_s_1k_changed_of_100k_qdrant",
    ),
    "neo4j_trace": ("neo4j_trace_ms",),
    "neo4j_forgetting": ("neo4j_forget_s",),
    "neo4j_kill": ("kill_lost", "kill_doubled"),
}

# The module of each group, below `benchmarks`. Each module has a function `measure(run)`.
MODULES: Mapping[str, str] = {
    "ingest": "service.ingest",
    "process": "service.process",
    "reading": "service.reading",
    "probe": "probe",
    "start": "service.start",
    "recommend_ml100k": "service.recommend_ml100k",
    "web": "web.page",
    "quality": "quality.quality",
    "llm": "llm.costs",
    "leave_one_out": "quality.leave_one_out",
    "evolving": "life.evolution",
    "forgetting": "life.forgetting",
    "backup": "life.backup",
    "size": "life.size",
    "soak": "life.soak",
    "membership": "privacy.membership",
    "neo4j_ingest": "neo4j.ingest",
    "neo4j_process": "neo4j.process",
    "neo4j_probe": "neo4j.probe",
    "neo4j_rounds": "neo4j.rounds",
    "neo4j_trace": "neo4j.trace",
    "neo4j_forgetting": "neo4j.forgetting",
    "neo4j_kill": "neo4j.kill",
}
