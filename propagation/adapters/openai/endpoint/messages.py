"""Messages by who says them: some models' templates know users and assistants only."""

from collections.abc import Mapping, Sequence

from propagation.adapters.openai.endpoint.failures import SYSTEM

Messages = Sequence[Mapping[str, str]]
PLAIN = "Say OK."
PING: Messages = ({"role": "user", "content": PLAIN},)
WITH_SYSTEM: Messages = ({"role": SYSTEM, "content": "You are brief."}, *PING)


def merged(messages: Messages) -> list[Mapping[str, str]]:
    """What the system says at the head of the first user's message."""
    told = [message["content"] for message in messages if message["role"] == SYSTEM]
    first, *others = [message for message in messages if message["role"] != SYSTEM]
    return [{**first, "content": "\n\n".join((*told, first["content"]))}, *others]
