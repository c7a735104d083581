"""The settings that data was made with.

On existing data only a command (`propagation init`) changes them; a restart does not.
"""

from propagation.model import IncompatibleSettings, Term
from propagation.ports import Embedder, FittableEmbedder, GraphStore
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersView, draw_seeded_directions


class DataSettings(Term):
    """The settings on which the numbers and texts of one epoch rest.

    Attributes:
        embedder: The embedder's name before it is fitted.
        centres: Whether the taste routers' centres are k-means of "items" or of "attributes".
        ranker: What the ranker learns beside the routers, in words.
    """

    session_k: int
    taste_k: int
    embedder: str
    dimension: int
    reasoner: str
    seed: int
    centres: str = "items"
    ranker: str = "that of an earlier version"

    @property
    def blob(self) -> bytes:
        """Return the settings as the bytes that the store keeps."""
        return self.model_dump_json().encode()

    def check(self, configured: "DataSettings") -> None:
        """Check that the settings of this process are the same.

        Args:
            configured: The settings of this process.

        Raises:
            IncompatibleSettings: A setting differs. The message names each one, both values, and
                the command.
        """
        differing = [
            f"{WORDS[name]} was {old}, now it is {getattr(configured, name)}"
            for name, old in self
            if old != getattr(configured, name)
        ]
        if differing:
            raise IncompatibleSettings(
                f"this data was made with other settings: {'; '.join(differing)}. Go back to the"
                " old ones, or run `propagation init`, which learns all interactions again under"
                " the new ones and rebuilds the vector index (`propagation reindex` alone would"
                " leave the numbers as they are)"
            )


WORDS = {
    "session_k": "session.k",
    "taste_k": "taste.k",
    "embedder": "the embedder",
    "dimension": "the embedder's dimension",
    "reasoner": "the reasoner",
    "seed": "seed",
    "centres": "centres",
    "ranker": "what the ranker learns beside the routers",
}


def build_data_settings_blob(era: int) -> str:
    """Return the name of the blob with an era's data settings.

    The settings hold for all epochs of the era. A bootstrap writes the blob before it opens the
    epoch; nothing reads the blob earlier. Era 0 is the time before any bootstrap.
    """
    return f"made_with:{era}"


def build_embedder_blob(era: int) -> str:
    """Return the name of the blob with an era's fitted embedder.

    The blob has some megabytes.
    """
    return f"embedder:{era}"


class OpenData:
    """The settings and the fitted embedder of the open data.

    Attributes:
        configured: The settings of this process.
        settings: The settings that the data was made with; until `restore`, those of this process.
        outdated: Whether the numbers and the index are left unread, because they were made with
            other settings or are damaged. The next epoch or a rebuild makes them anew.
    """

    def __init__(
        self, store: GraphStore, embedder: Embedder, reasoner: str, settings: WorkflowSettings
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits, self._factors = settings.limits, settings.ranker.factors
        self.configured = DataSettings(
            session_k=settings.session.k,
            taste_k=settings.taste.k,
            embedder=embedder.name,
            dimension=embedder.dimension,
            reasoner=reasoner,
            seed=settings.seed,
            centres=settings.centres,
            ranker=settings.ranker.in_words,
        )
        self.settings = self.configured
        self.outdated = False

    def create_first_view(self) -> NumbersView:
        """Create the numbers before bootstrap.

        The routers' centres are random directions that the seed determines.
        """
        made = self.settings
        return NumbersView(
            draw_seeded_directions(made.session_k, made.dimension, made.seed),
            draw_seeded_directions(made.taste_k, made.dimension, made.seed + 1),
            made.seed,
            epoch=0,
            limits=self._limits,
            factors=self._factors,
        )

    async def restore(self, *, adopt: bool) -> None:
        """Check the settings at start, and load the epoch's embedder.

        Args:
            adopt: Whether to open data with other settings or damaged numbers, to make it anew.

        Raises:
            IncompatibleSettings: The settings differ, and `adopt` is not set.
        """
        epoch = await self._store.get_current_epoch()
        era = epoch.era if epoch else 0
        blob = await self._store.get_blob(build_data_settings_blob(era))
        if blob is not None and await self._store.get_learned_through():
            self.settings = DataSettings.model_validate_json(blob)
        else:
            await self._store.put_blob(build_data_settings_blob(era), self.configured.blob)
        self.outdated = adopt
        if not adopt:
            self.settings.check(self.configured)
        if self.settings.embedder == self.configured.embedder:
            await self._load_embedder(era)

    async def follow_epoch(self, number: int) -> None:
        """Load the settings and the embedder of an epoch.

        This process or another one has opened the epoch. If it has another embedder than this
        process, only `settings` changes: nothing is checked or loaded.

        Args:
            number: The epoch's number.

        Raises:
            IncompatibleSettings: The epoch has the same embedder, and another setting differs.
        """
        era = next(
            (epoch.era for epoch in await self._store.get_epochs() if epoch.number == number),
            number,
        )
        if blob := await self._store.get_blob(build_data_settings_blob(era)):
            self.settings = DataSettings.model_validate_json(blob)
        if self.settings.embedder == self.configured.embedder:
            self.settings.check(self.configured)
            await self._load_embedder(era)
            self.outdated = False

    async def _load_embedder(self, era: int) -> None:
        if era and isinstance(self._embedder, FittableEmbedder):
            self._embedder.restore(await self._store.get_blob(build_embedder_blob(era)))
