"""The settings in force: GetSettings."""

from propagation.v1 import propagation_pb2 as pb
from services.config.sources import SettingSource, SourceKind
from services.grpc.handlers.servicer import Context, Servicer

KINDS = {
    SourceKind.DEFAULT: pb.SETTING_SOURCE_KIND_DEFAULT,
    SourceKind.PRESET: pb.SETTING_SOURCE_KIND_PRESET,
    SourceKind.FILE: pb.SETTING_SOURCE_KIND_FILE,
    SourceKind.ENVIRONMENT: pb.SETTING_SOURCE_KIND_ENVIRONMENT,
    SourceKind.FLAG: pb.SETTING_SOURCE_KIND_FLAG,
    SourceKind.PROGRAM: pb.SETTING_SOURCE_KIND_PROGRAM,
}


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
                    source=source_to_proto(setting.source),
                    meaning=setting.meaning,
                    unit=setting.unit,
                )
                for setting in self._loaded.describe()
            ]
        )


def source_to_proto(source: SettingSource) -> pb.SettingSource:
    """Convert the source of a setting."""
    return pb.SettingSource(kind=KINDS[source.kind], name=source.name, line=source.line)
