"""The targets of all figures, by key."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The target of one figure.

    Attributes:
        must: The value that has to be reached; None if the figure has no target.
        hope: The value that is hoped for; None if there is none.
        at_least: Whether a larger value is better.
    """

    must: float | None = None
    hope: float | None = None
    at_least: bool = True

    def met(self, value: float) -> bool | None:
        """Tell whether a value reaches `must`; None if there is no target."""
        if self.must is None:
            return None
        return value >= self.must if self.at_least else value <= self.must


TARGETS = {
    "ingest_batch_events_per_s": Target(20_000, 25_000),
    "ingest_single_events_per_s": Target(1_300, 2_500),
    "ingest_stream_events_per_s": Target(5_000, 6_000),
    "process_interactions_per_s": Target(1_000, 3_000),
    "process_cost_ratio_100k_over_1k_clients": Target(1.5, 1.1, at_least=False),
    "event_to_recommendation_s": Target(2, 0.5, at_least=False),
    "recommend_p50_ms": Target(20, 5, at_least=False),
    "recommend_p99_ms": Target(50, 15, at_least=False),
    "recommend_overlap": Target(0.99, None),
    "recommend_per_s": Target(150, 600),
    "recommend_ml100k_p50_ms": Target(1.4, 1, at_least=False),
    "recommend_ml100k_per_s": Target(400, 1_000),
    "get_profile_p99_ms": Target(6, 3, at_least=False),
    "rss_mb_100k_clients": Target(800, 500, at_least=False),
    "start_s_100k_clients": Target(5, 2, at_least=False),
    "web_first_view_s": Target(1, 0.3, at_least=False),
    "web_slowest_view_s": Target(1, 0.3, at_least=False),
    "web_recommend_p99_change_pct": Target(5, 1, at_least=False),
    "web_ingest_change_pct": Target(5, 1, at_least=False),
    "n10_off": Target(0.815, None),
    "n10_placebo": Target(None, None),
    "n10_adoption": Target(0.838, None),
    "delta": Target(0.018, None),
    "delta_t": Target(10, None),
    "n10_offk": Target(None, None),
    "n10_offk_adoption": Target(0.860, 0.864),
    "n10_rules": Target(None, None),
    "n10_text": Target(None, None),
    "loo_n10_10": Target(0.850, 0.856),
    "loo_n10_100": Target(0.495, 0.507),
    "loo_shuffled_n10_10": Target(0.785, 0.79),
    "loo_delta_10": Target(0.012, 0.020),
    "loo_placebo_delta_10": Target(0.003, None, at_least=False),
    "evolution_s_100k_clients": Target(60, 20, at_least=False),
    "recommend_p99_during_evolution_ms": Target(100, 30, at_least=False),
    "forget_s": Target(3, 1, at_least=False),
    "forget_and_wipe_s": Target(None, None, at_least=False),
    "membership_advantage_read": Target(None, None, at_least=False),
    "backup_s_1m_interactions": Target(60, 15, at_least=False),
    "recommend_p99_during_backup_ms": Target(100, 30, at_least=False),
    "file_bytes_per_interaction": Target(3_000, 1_000, at_least=False),
    "neo4j_ingest_batch_events_per_s": Target(4_500, 6_000),
    "neo4j_process_interactions_per_s": Target(450, 1_000),
    "neo4j_event_to_recommendation_s": Target(3, 1, at_least=False),
    "neo4j_round_trips_per_interaction": Target(0.2, 0.05, at_least=False),
    "neo4j_round_s_1k_changed_of_100k": Target(5, 1, at_least=False),
    "neo4j_round_s_1k_changed_of_100k_semantic": Target(5, 1, at_least=False),
    "neo4j_round_s_1k_changed_of_100k_qdrant": Target(5, 1, at_least=False),
    "neo4j_first_table_s_100k_clients": Target(60, 30, at_least=False),
    "neo4j_trace_ms": Target(40, 10, at_least=False),
    "neo4j_forget_s": Target(3, 1, at_least=False),
    "kill_lost": Target(0, None, at_least=False),
    "kill_doubled": Target(0, None, at_least=False),
    "soak_rss_growth_pct": Target(10, 2, at_least=False),
    "llm_calls_per_interaction": Target(3.0, 2.3, at_least=False),
    "llm_prompt_tokens_per_interaction": Target(2_900, 2_000, at_least=False),
    "llm_completion_tokens_per_interaction": Target(720, 500, at_least=False),
    "llm_500_interactions_s_at_500ms": Target(60, 30, at_least=False),
    "llm_overhead_ms_per_call": Target(5, 2, at_least=False),
    "llm_calls_ratio_under_faults": Target(1.40, 1.34, at_least=False),
    "llm_lost": Target(0, None, at_least=False),
    "llm_doubled": Target(0, None, at_least=False),
    "llm_read_p99_ms": Target(10, 3, at_least=False),
}
