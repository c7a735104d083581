"""Rewrite of a router to stand for its readers' choices.

Source: RecNet 2.4.
"""

from collections.abc import Mapping

from propagation.model import RouterVersion


def rewrite_standing(version: RouterVersion, choices: Mapping[str, int]) -> dict[str, float]:
    """Halve what the router stood for, and add its readers' choices.

    An attribute that was chosen takes the number of choices as its weight.

    Args:
        choices: How often its readers chose each attribute.
    """
    kept = {name: weight / 2 for name, weight in version.standing}
    return kept | {name: float(count) for name, count in choices.items()}
