"""Monitoring as the settings ask for it; what is off is not imported."""

from services.config.settings import MonitoringSettings
from services.monitoring.monitoring import Monitoring


def monitoring_from_settings(settings: MonitoringSettings, process: str) -> Monitoring:
    """Build what the settings ask for. Raises NotInstalled."""
    if settings.port is None and settings.traces is None:
        return Monitoring()
    from services.monitoring.monitor import Monitor

    return Monitor(settings, process)
