"""A client of the preference propagation service.

The client needs no package of the service.

`PropagationClient` makes the calls; `interaction`, `user_key` and `item_key` build their arguments.
All other messages come from the proto: `from propagation.v1 import propagation_pb2 as pb`.
"""

from propagation_client.client import PropagationClient
from propagation_client.credentials import Credentials
from propagation_client.errors import CallFailed, Unreachable
from propagation_client.messages import interaction, item_key, user_key
from propagation_client.paging import pages
from propagation_client.retries import Retries

__all__ = [
    "CallFailed",
    "Credentials",
    "PropagationClient",
    "Retries",
    "Unreachable",
    "interaction",
    "item_key",
    "pages",
    "user_key",
]
