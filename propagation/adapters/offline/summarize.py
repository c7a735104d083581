"""Prompt_summarize (eq. 3), offline: a router's name and message."""

from collections.abc import Mapping, Sequence

from propagation.adapters.offline.wording import bounded, listed, quoted

NAMED, STANDING, ARRIVED, EXAMPLES = 2, 5, 3, 3
MESSAGE_MAX_WORDS = 60


def router_text(router: int, arrived: Mapping[str, int], standing: Mapping[str, float],
                examples: Sequence[str]) -> tuple[str, str]:
    lasting = _largest(standing)
    new = _largest(arrived)[:ARRIVED]
    name = " & ".join((lasting or new)[:NAMED]) or f"community {router}"
    parts = [f"A community drawn to {listed(lasting[:STANDING])}." if lasting else "A community that is taking shape."]
    if new:
        parts.append(f"It is now turning to {listed(new)}.")
    if examples:
        parts.append(f"Seen around {listed([quoted(title) for title in examples[:EXAMPLES]])}.")
    return name, bounded(" ".join(parts), MESSAGE_MAX_WORDS)


def _largest(weights: Mapping[str, float]) -> list[str]:
    return sorted(weights, key=lambda name: (-weights[name], name))
