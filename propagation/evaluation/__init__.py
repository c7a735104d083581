"""The prequential protocol (OFFLINE_ROUTING.md): its arms and controls, metrics, reports."""
