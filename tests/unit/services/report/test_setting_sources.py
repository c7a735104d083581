"""Sources of settings read the same here and where they are loaded."""

import pytest

from services.config.sources import SettingSource, SourceKind
from services.grpc.handlers.operator.get_settings import source_to_proto
from services.report.setting_sources import describe_source


@pytest.mark.parametrize("kind", SourceKind)
@pytest.mark.parametrize(("name", "line"), [("", None), ("/etc/x.toml", None), ("/etc/x.toml", 3)])
def test_a_source_reads_the_same_from_a_service(kind, name, line):
    source = SettingSource(kind, name, line)
    assert describe_source(source_to_proto(source)) == str(source)


def test_a_file_is_named_with_its_line():
    source = SettingSource(SourceKind.FILE, "/etc/x.toml", 3)
    assert str(source) == "file /etc/x.toml, line 3"
