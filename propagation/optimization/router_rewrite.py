"""Rewrite of a router to stand for its readers' choices.

Source: RecNet 2.4.
"""

from collections.abc import Mapping

from propagation.model import RouterVersion


def rewrite_standing(version: RouterVersion, choices: Mapping[str, int]) -> dict[str, float]:
    """Halve the weights of what a router stood for; add readers' choices.

    The weight of a chosen attribute becomes the number of choices, whatever it was before.

    Args:
        choices: How often its readers chose each attribute.
    """
    kept = {name: weight / 2 for name, weight in version.standing}
    return kept | {name: float(count) for name, count in choices.items()}
