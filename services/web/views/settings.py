"""Settings in force, and where each value comes from."""

from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.report.setting_sources import describe_source
from services.web.problems import BadAddress
from services.web.rendering import get_visitor, show
from services.web.views.view_table import ViewTable

MAX_WORDS = 256


async def show_settings(request: Request) -> Response:
    """Show the settings, changed ones first."""
    words = request.query_params.get("words", "").strip()
    if len(words) > MAX_WORDS:
        raise BadAddress(f"Search for at most {MAX_WORDS} characters.")
    visitor = get_visitor(request)
    if not visitor.may("admin"):
        return show(request, "operator/settings.html", words="", total=0, groups=[])
    answer = await visitor.stub.GetSettings(pb.GetSettingsRequest())
    found = [one for one in answer.settings if _matches(one, words.casefold().split())]
    changed = [one for one in found if not _is_default(one)]
    others = [one for one in found if _is_default(one)]
    return show(
        request,
        "operator/settings.html",
        words=words,
        total=len(answer.settings),
        groups=[("Changed", "changed", changed), ("Defaults", "defaults", others)],
        describe_source=describe_source,
    )


def _is_default(one: pb.Setting) -> bool:
    return one.source.kind == pb.SETTING_SOURCE_KIND_DEFAULT


def _matches(one: pb.Setting, words: list[str]) -> bool:
    text = f"{one.name} {one.value} {describe_source(one.source)} {one.meaning}".casefold()
    return all(word in text for word in words)


VIEWS = ViewTable(pages={"/settings": show_settings})
