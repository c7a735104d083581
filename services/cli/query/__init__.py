"""Commands of analysts: profiles, recommendations, routers, traces."""
