"""Views of clients: search, profile, recommendations, neighbours, events, erasure."""

from services.web.views.clients import (
    erasure,
    events,
    profile,
    profile_history,
    recommendations,
    search,
    similar,
)
from services.web.views.view_table import ViewTable

VIEWS: tuple[ViewTable, ...] = (
    search.VIEWS,
    profile.VIEWS,
    profile_history.VIEWS,
    recommendations.VIEWS,
    similar.VIEWS,
    events.VIEWS,
    erasure.VIEWS,
)
