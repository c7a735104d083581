"""The settings that data was made with.

A command changes one of them on existing data; no restart does.
"""

from propagation.model import IncompatibleSettings, Term
from propagation.ports import Embedder, FittableEmbedder, GraphStore
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersView, draw_seeded_directions


class DataSettings(Term):
    """The settings on which the numbers and texts of one epoch rest.

    Attributes:
        embedder: Its name before it is fitted.
        centres: The texts whose k-means are the taste routers' centres.
    """

    session_k: int
    taste_k: int
    embedder: str
    dimension: int
    reasoner: str
    seed: int
    centres: str = "items"

    @property
    def blob(self) -> bytes:
        """Return the settings as stored."""
        return self.model_dump_json().encode()

    def check(self, configured: "DataSettings") -> None:
        """Compare with the settings of this process.

        Raises:
            IncompatibleSettings: Names each setting that differs, both values, and the command.
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
                " the new ones and makes the vector index anew (`propagation reindex` alone would"
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
}


def build_data_settings_blob(era: int) -> str:
    """Name the blob with the data settings of a bootstrap.

    They hold for all epochs that come from it, too. It is published with the bootstrap, since
    nothing reads it earlier. Era 0 is the time before any bootstrap.
    """
    return f"made_with:{era}"


def build_embedder_blob(era: int) -> str:
    """Name the blob with the state of the epochs' embedder, some megabytes."""
    return f"embedder:{era}"


class OpenData:
    """The settings and the fitted embedder of the open data.

    Attributes:
        configured: What this process' settings say.
        settings: What the data was made with; until it is opened, the same.
        outdated: The numbers and the index were made with other settings, or are damaged. They are
            not read, and the next epoch or a rebuild makes them anew.
    """

    def __init__(
        self, store: GraphStore, embedder: Embedder, reasoner: str, settings: WorkflowSettings
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = settings.limits
        self.configured = DataSettings(
            session_k=settings.session.k,
            taste_k=settings.taste.k,
            embedder=embedder.name,
            dimension=embedder.dimension,
            reasoner=reasoner,
            seed=settings.seed,
            centres=settings.centres,
        )
        self.settings = self.configured
        self.outdated = False

    def create_first_view(self) -> NumbersView:
        """Create the numbers before bootstrap, whose routers have seeded directions."""
        made = self.settings
        return NumbersView(
            draw_seeded_directions(made.session_k, made.dimension, made.seed),
            draw_seeded_directions(made.taste_k, made.dimension, made.seed + 1),
            made.seed,
            epoch=0,
            limits=self._limits,
        )

    async def restore(self, *, adopt: bool) -> None:
        """Check the settings at start, and load the epoch's embedder.

        Args:
            adopt: Open the data under other settings too, or with damaged numbers, to make it anew.

        Raises:
            IncompatibleSettings: They differ, and `adopt` is not set.
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
        """Go over to an epoch that any process has opened.

        Raises:
            IncompatibleSettings: It was opened under other settings than this process has.
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
