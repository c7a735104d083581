"""The settings in force: GetSettings."""

from propagation.v1 import propagation_pb2 as pb
from services.grpc.handlers.servicer import Context, Servicer


class GetSettingsHandler(Servicer):
    """Says how the service is set."""

    async def GetSettings(
        self, request: pb.GetSettingsRequest, context: Context
    ) -> pb.GetSettingsResponse:
        return pb.GetSettingsResponse(
            settings=[
                pb.Setting(
                    name=setting.key,
                    value=setting.value,
                    source=setting.source,
                    meaning=setting.meaning,
                    unit=setting.unit,
                )
                for setting in self._loaded.describe()
            ]
        )
