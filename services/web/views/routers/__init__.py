"""Routers and their evolution."""

from services.web.views.routers import all_routers, evolution, one_router

VIEWS = (all_routers.VIEWS, one_router.VIEWS, evolution.VIEWS)
