"""The settings that data was made with: changing one on existing data is a command, not an
accident."""

import orjson

from propagation.model.base import Term
from propagation.model.errors import IncompatibleSettings


class DataSettings(Term):
    """What numbers and texts of one epoch rest on. `embedder` is the name before it is fitted;
    `centres`: what the taste routers' centres are k-means of."""

    session_k: int
    taste_k: int
    embedder: str
    dimension: int
    reasoner: str
    seed: int
    centres: str = "items"

    @property
    def blob(self) -> bytes:
        return orjson.dumps(self.model_dump(), option=orjson.OPT_SORT_KEYS)

    @classmethod
    def of_blob(cls, blob: bytes) -> "DataSettings":
        return cls.model_validate(orjson.loads(blob))

    def check(self, now: "DataSettings") -> None:
        """Raises IncompatibleSettings naming each setting that differs, both values, and the
        command."""
        if now == self:
            return
        differing = [
            f"{WORDS[name]} was {old}, now it is {getattr(now, name)}"
            for name, old in self
            if old != getattr(now, name)
        ]
        raise IncompatibleSettings(
            f"this data was made with other settings: {'; '.join(differing)}. Go back to the old ones, or"
            " run `propagation init`, which learns all interactions again under the new ones and makes the"
            " vector index anew (`propagation reindex` alone would leave the numbers as they are)"
        )


WORDS = {
    "session_k": "session.k",
    "taste_k": "taste.k",
    "embedder": "the embedder",
    "dimension": "the embedder's dimension",
    "reasoner": "the reasoner",
    "seed": "seed",
    "centres": "centres",
}


def made_with_name(era: int) -> str:
    """The blob that holds the settings of a bootstrap and of all epochs that come from it;
    published with the bootstrap's, since nothing reads it before. 0: before any bootstrap."""
    return f"made_with:{era}"


def embedder_name(era: int) -> str:
    """The blob that holds the state of their embedder, some megabytes."""
    return f"embedder:{era}"
