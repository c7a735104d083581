"""The views of one topic, by address."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from services.web.live import Parts

View = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class ViewTable:
    """The views of one topic.

    Attributes:
        pages: Views that show something, by path.
        forms: Views that do something, by path. `get_form` has the form's
            fields, after it was checked that this page sent it.
        live: By the name of a live view, what is updated in it.
    """

    pages: Mapping[str, View]
    forms: Mapping[str, View] = field(default_factory=dict)
    live: Mapping[str, Parts] = field(default_factory=dict)
