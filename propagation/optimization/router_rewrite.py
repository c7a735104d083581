"""Rewrite of a router (RecNet 2.4): it stands for what its readers chose."""

from collections.abc import Mapping

from propagation.model import RouterVersion


def rewritten_standing(version: RouterVersion, choices: Mapping[str, int]) -> dict[str, float]:
    """Halve what the router stood for, and put its readers' choices in their place.

    Args:
        choices: How often its readers chose each attribute.
    """
    kept = {name: weight / 2 for name, weight in version.standing}
    return kept | {name: float(count) for name, count in choices.items()}
