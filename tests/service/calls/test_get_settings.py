"""GetSettings over real gRPC."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.config.sources import list_setting_fields
from services.security.roles import Role
from tests.service.scenarios import catch_code


async def test_every_setting_is_told_with_its_source_and_meaning(service):
    answer = await service.stub.GetSettings(pb.GetSettingsRequest())
    found = {setting.name: setting for setting in answer.settings}
    assert list(found) == list(list_setting_fields())
    program, default = pb.SETTING_SOURCE_KIND_PROGRAM, pb.SETTING_SOURCE_KIND_DEFAULT
    assert (found["taste.k"].value, found["taste.k"].source.kind) == ("4", program)
    assert (found["seed"].value, found["seed"].source.kind) == ("7", default)
    assert found["lease_seconds"].unit == "seconds"
    assert found["database"].value.endswith("graph.db")
    assert found["neo4j.password"].value == "not set"
    assert not found["tau"].HasField("value")
    assert all(setting.meaning for setting in answer.settings)


@pytest.mark.parametrize("role", Role)
async def test_the_settings_need_admin(start_service, role):
    async with start_service(roles=(role,)) as service:
        code = await catch_code(service.stub.GetSettings(pb.GetSettingsRequest()))
    codes = grpc.StatusCode
    assert code == (codes.OK if role == Role.ADMIN else codes.PERMISSION_DENIED)
