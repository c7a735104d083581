"""A client's profile as a message, which reception merges like a router's.

The sender's number (ref) stands for the router's, and the version of its profile for the message's.
So a filter rule about a router is here one about a sender.
"""

from propagation.model import (
    Author,
    Line,
    Profile,
    RouterVersion,
    find_names_in_text,
    join_names,
)

NAMED = 2
ORDER = (Author.INTERACTION, Author.CATALOGUE, Author.RECEPTION)


def list_newest_first(profile: Profile) -> list[Line]:
    """Order lines: the newest choices, the catalogue's, then what was heard.

    A prompt cuts a long message at its end.
    """
    return sorted(
        profile.lines, key=lambda line: (ORDER.index(line.author), -_find_newest(line), line.id)
    )


def send_profile(profile: Profile) -> RouterVersion:
    """Build the message that holds a whole profile."""
    lines = list_newest_first(profile)
    return _build(profile, " ".join(line.text for line in lines), _list_attributes(lines))


def send_summary(profile: Profile, summary: str) -> RouterVersion:
    """Build the message of a summary of a profile.

    Its attributes are those that it names, or all if it names none.
    """
    attributes = _list_attributes(list_newest_first(profile))
    return _build(profile, summary, find_names_in_text(attributes, summary) or attributes)


def _find_newest(line: Line) -> int:
    """Return the sequence of the newest interaction of a line; 0: none."""
    return max((one.sequence or 0 for one in line.sources), default=0)


def _list_attributes(lines: list[Line]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for line in lines for name in line.attributes))


def _build(profile: Profile, text: str, attributes: tuple[str, ...]) -> RouterVersion:
    """Name the message by the sender's heaviest attributes, as routers are."""
    heaviest = sorted(profile.lines, key=lambda line: (-line.weight, line.id))
    return RouterVersion(
        router=profile.ref,
        version=profile.version,
        round=0,
        epoch=0,
        name=join_names(_list_attributes(heaviest)[:NAMED]),
        text=text,
        attributes=attributes,
    )
