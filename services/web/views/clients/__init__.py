"""Views of clients: search, profile, recommendations, similar clients, events, erasure."""

from services.web.view_table import ViewTable
from services.web.views.clients import (
    erasure,
    events,
    profile,
    recommendations,
    search,
    similar,
)

VIEWS: tuple[ViewTable, ...] = (
    search.VIEWS,
    profile.VIEWS,
    recommendations.VIEWS,
    similar.VIEWS,
    events.VIEWS,
    erasure.VIEWS,
)
