"""What a client's text says, as the index and the view take it."""

from collections.abc import Mapping

from propagation.model.base import value
from propagation.model.clients.client_text import ClientText
from propagation.routing.attribute_extraction import own_attributes


@value
class Said:
    """The lines of a client's profile at one version, with their weights, and its own attributes as
    the lines name them, each with the newest sequence it rests on (eq. 1)."""

    ref: int
    version: int
    lines: tuple[str, ...]
    weights: tuple[float, ...]
    attributes: Mapping[str, int]


def said_of(text: ClientText) -> Said:
    """Of one version."""
    profile = text.profile
    return Said(
        ref=profile.ref,
        version=profile.version,
        lines=tuple([line.text for line in profile.lines]),
        weights=tuple([line.weight for line in profile.lines]),
        attributes=own_attributes(text),
    )
