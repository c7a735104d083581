"""The page of settings: changed ones first, searchable, without secrets."""

import html
import re

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role

DEFAULT = pb.SETTING_SOURCE_KIND_DEFAULT


def list_names(answer, section: str) -> list[str]:
    """Return the settings that a section of the page lists."""
    part = answer.text.split(f'aria-labelledby="{section}"')[1].split("</section>")[0]
    return re.findall(r"<code>([^<]*)</code></th>", part)


async def test_changed_settings_come_first_with_their_source(service, start_page):
    settings = (await service.stub.GetSettings(pb.GetSettingsRequest())).settings
    changed = [one.name for one in settings if one.source.kind != DEFAULT]
    assert "taste.k" in changed
    async with start_page(service.address) as page:
        answer = await page.get("/settings")
    assert list_names(answer, "changed") == changed
    assert list_names(answer, "defaults") == [
        one.name for one in settings if one.source.kind == DEFAULT
    ]
    text = html.unescape(answer.text)
    assert "<bdi>program</bdi>" in answer.text
    for one in settings:
        assert one.meaning in text
    assert text.index('id="changed"') < text.index('id="defaults"')


async def test_settings_are_searched(service, start_page):
    async with start_page(service.address) as page:
        answer = await page.get("/settings?words=TASTE.k")
        none = await page.get("/settings?words=%3Cscript%3Ealert(1)")
        long = await page.get(f"/settings?words={'x' * 300}")
    found = list_names(answer, "changed") + list_names(answer, "defaults")
    assert "taste.k" in found
    assert all("taste.k" in name or "taste" in answer.text for name in found)
    assert len(found) < 10
    assert none.text.count("None of these has such words.") == 2
    assert "<script>alert" not in none.text
    assert long.status_code == 400


async def test_other_roles_do_not_see_settings(start_service, start_page):
    async with (
        start_service(roles=(Role.ANALYST,)) as service,
        start_page(service.address) as page,
    ):
        await page.sign_in(service.token)
        answer = await page.get("/settings")
    assert answer.status_code == 200
    assert "shown to the role admin only" in answer.text
    assert "<code>" not in answer.text
