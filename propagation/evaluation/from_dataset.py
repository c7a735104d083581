"""A dataset as the stream of an evaluation."""

from propagation.datasets.dataset import Dataset
from propagation.evaluation.stream import Stream
from propagation.model.clients.client import Client, ref_of
from propagation.workflow.index.embedding import attribute_text, content_text


def stream_of(dataset: Dataset) -> Stream:
    """Return the dataset as a stream: texts as the live embedder reads them, without ids.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    clients = [
        change.apply_to(Client(ref=ref_of(change.key.kind, row), key=change.key))
        for row, change in enumerate(dataset.items)
    ]
    user, item, time = dataset.rows()
    stream = Stream(
        dataset.name,
        [content_text(client) for client in clients],
        [attribute_text(client) for client in clients],
        user,
        item,
        time,
    )
    stream.check()
    return stream
