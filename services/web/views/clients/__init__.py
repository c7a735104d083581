"""Views of clients: search, profile, recommendations, neighbours, events, erasure."""

from services.web.view_table import ViewTable
from services.web.views.clients import (
    erasure,
    events,
    profile,
    profile_history,
    recommendations,
    search,
    similar,
)

VIEWS: tuple[ViewTable, ...] = (
    search.VIEWS,
    profile.VIEWS,
    profile_history.VIEWS,
    recommendations.VIEWS,
    similar.VIEWS,
    events.VIEWS,
    erasure.VIEWS,
)
