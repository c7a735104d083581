"""What embedders read of clients."""

from propagation.model.clients.attribute import normalised
from propagation.model.clients.client import Client


def content_text(client: Client) -> str:
    """Everything a catalogue says of a client."""
    return " ".join(
        (client.title, *client.attributes, *client.categories, client.description)
    ).strip()


def attribute_text(client: Client) -> str:
    return " ".join(normalised(name) for name in (*client.attributes, *client.categories))
