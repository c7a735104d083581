"""The cache of texts finds versions that another process wrote."""

from propagation.model import ClientText, Profile
from propagation.workflow.index.text_cache import create_client_text_cache

ANN, BEN, CLEO = 0, 2, 4


def text(ref, version):
    return ClientText(profile=Profile(ref=ref, version=version))


class Stored:
    """The two reads of a store that the cache uses."""

    def __init__(self, *texts):
        self.texts = {text.profile.ref: text for text in texts}
        self.loaded = []

    async def get_text_versions(self, refs=None):
        return {ref: self.texts[ref].profile.version for ref in refs if ref in self.texts}

    async def load_texts(self, refs):
        self.loaded.extend(refs)
        return {ref: self.texts.get(ref, text(ref, 0)) for ref in refs}


async def test_only_what_is_not_held_or_was_written_elsewhere_is_read():
    store = Stored(text(ANN, 3), text(BEN, 5))
    held = create_client_text_cache(store)
    held.put(ANN, text(ANN, 3))
    held.put(BEN, text(BEN, 4))
    found = await held.load_newest([ANN, BEN, CLEO])
    assert {ref: one.profile.version for ref, one in found.items()} == {ANN: 3, BEN: 5, CLEO: 0}
    assert store.loaded == [BEN, CLEO]
