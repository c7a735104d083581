"""Records of a client's export that are equal in every graph store."""

from collections.abc import Callable, Iterator, Mapping

from propagation.model.interactions.withdrawal import LearnedWeights

BANKS = ("session", "taste")


def written_records(
    written: LearnedWeights, named: Callable[[int], str | None]
) -> Iterator[Mapping[str, object]]:
    """Return by event what it wrote to each bank (rule 5): (router, weight).

    Args:
        named: Name of an item's row (-1: none) in an export; None if the item is gone.
    """
    for place, sequence in enumerate(written.sequence.tolist()):
        banks = {}
        for bank, name in enumerate(BANKS):
            pairs = zip(
                written.routers[place, bank].tolist(),
                written.weights[place, bank].tolist(),
                strict=True,
            )
            banks[name] = [[router, weight] for router, weight in pairs if weight > 0]
        yield {"sequence": sequence, "negative": named(int(written.negative[place])), **banks}
