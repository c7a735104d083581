"""Sources of settings in words."""

from propagation.v1 import propagation_pb2 as pb

KINDS = {
    pb.SETTING_SOURCE_KIND_DEFAULT: "default",
    pb.SETTING_SOURCE_KIND_PRESET: "preset",
    pb.SETTING_SOURCE_KIND_FILE: "file",
    pb.SETTING_SOURCE_KIND_ENVIRONMENT: "environment",
    pb.SETTING_SOURCE_KIND_FLAG: "flag",
    pb.SETTING_SOURCE_KIND_PROGRAM: "program",
}


def describe_source(source: pb.SettingSource) -> str:
    """Name where a setting's value comes from."""
    place = f"{KINDS.get(source.kind, 'unknown')} {source.name}".rstrip()
    return f"{place}, line {source.line}" if source.HasField("line") else place
