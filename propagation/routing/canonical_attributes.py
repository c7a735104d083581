"""Canonical attributes: "Jazz" and "jazz music" become one (`docs/design.md`, "Vocabulary")."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt

import numpy as np

from propagation.arrays import F32
from propagation.ports import Collection, VectorIndex

NEAREST = 32
WORD = re.compile(r"[\w+#]+")
# Words that say what kind of thing a name is about, or nothing: "jazz music" is jazz.
KIND_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "book",
        "books",
        "film",
        "films",
        "for",
        "game",
        "games",
        "genre",
        "in",
        "movie",
        "movies",
        "music",
        "n",
        "of",
        "song",
        "songs",
        "the",
    ]
)
Likeness = Callable[[str, str], float]
Near = Sequence[tuple[str, float]]


def measure_words_likeness(name: str, other: str) -> float:
    """Compare two names by the words that tell something.

    This takes the place of cosines if the embedder is fitted on a catalogue: its cosines say which
    words occur in the same places ("new wave" and "new age": .94 over 269 records), and differ from
    catalogue to catalogue.

    Returns:
        The cosine of the names' sets of words (0..1); also 1 for names that differ in spacing alone
        ("hip hop", "hip-hop", "hiphop").
    """
    one, two = _list_telling_words(name), _list_telling_words(other)
    if "".join(one) == "".join(two):
        return 1.0
    return len({*one} & {*two}) / sqrt(len({*one}) * len({*two}))


def _list_telling_words(name: str) -> list[str]:
    words = WORD.findall(name)
    return [word for word in words if word not in KIND_WORDS] or words or [name]


async def find_canonical_names(
    index: VectorIndex,
    names: Sequence[str],
    vectors: F32,
    least: float,
    likeness: Likeness | None = None,
) -> dict[str, str]:
    """Map each new name to an existing attribute of the same meaning.

    A name without such an attribute maps to itself. A later name of the same call may then map to
    it, but a stored attribute that is similar enough comes first. Of equally similar names, the one
    of larger cosine is chosen; then the first by name if stored, else the first of `names`.

    Args:
        names: Normalised, in the order they came up.
        vectors: Unit rows or zeros [len(names), D].
        least: The smallest similarity at which two names are one.
        likeness: Measures the similarity of two names, among the 32 names of largest cosine; None:
            the cosine is the similarity.

    Returns:
        The canonical name of each name.
    """
    found: dict[str, str] = {}
    fresh: list[int] = []
    for row, name in enumerate(names):
        older = None
        if vectors[row].any():
            stored = [
                (str(hit.key), hit.score)
                for hit in await index.find_nearest(Collection.ATTRIBUTES, vectors[row], NEAREST)
            ]
            older = _find_most_alike(name, stored, least, likeness) or _find_most_alike(
                name, _find_among(fresh, names, vectors, vectors[row]), least, likeness
            )
        if older is None:
            fresh.append(row)
        found[name] = older or name
    return found


def _find_most_alike(name: str, near: Near, least: float, likeness: Likeness | None) -> str | None:
    alike = [likeness(name, other) if likeness else cosine for other, cosine in near]
    best = max(range(len(near)), key=alike.__getitem__, default=None)
    return near[best][0] if best is not None and alike[best] >= least else None


def _find_among(
    fresh: Sequence[int],
    names: Sequence[str],
    vectors: F32,
    vector: F32,
) -> Near:
    cosines = vectors[fresh] @ vector
    nearest = (
        np.argpartition(-cosines, NEAREST)[:NEAREST]
        if len(fresh) > NEAREST
        else np.arange(len(fresh))
    )
    return [
        (names[fresh[place]], float(cosines[place]))
        for place in sorted(nearest, key=lambda at: (-cosines[at], at))
    ]


def to_canonical(names: Iterable[str], canonical: Mapping[str, str]) -> tuple[str, ...]:
    """Replace names by their canonical ones, sorted, each once.

    An unmapped name stays.
    """
    return tuple(sorted({canonical.get(name, name) for name in names}))
