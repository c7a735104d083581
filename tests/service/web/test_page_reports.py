"""The page of reports: only HTML files of the folder, in a sandbox."""

import os
import re
import time

import pytest

from services.security.roles import Role
from services.web.access.report_files import MAX_DEPTH, NoSuchReport, ReportFolder, find_title

DOCUMENT = "<!DOCTYPE html><title>{}</title><style>p {{ color: red }}</style><p>text</p>"


@pytest.fixture
def reports(tmp_path):
    """A folder of reports, with what must not be shown."""
    folder = tmp_path / "reports"
    deep = folder.joinpath(*(f"d{n}" for n in range(MAX_DEPTH)))
    (deep / "deeper").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (tmp_path / "outside").mkdir()
    for place, (path, title) in enumerate(
        {
            "first.html": "First &amp; <b>best</b>",
            "run 1/report.html": "Ranks",
            "run 1/<i>é.html": "",
            str(deep.relative_to(folder) / "deep.html"): "Deep",
            str(deep.relative_to(folder) / "deeper" / "no.html"): "No",
            ".hidden/no.html": "No",
            ".no.html": "No",
            "no.txt": "No",
            "../outside/secret.html": "No",
        }.items()
    ):
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(DOCUMENT.format(title))
        os.utime(file, (1_000 + place, 1_000 + place))
    (folder / "link.html").symlink_to(tmp_path / "outside" / "secret.html")
    (folder / "inside.html").symlink_to(folder / "first.html")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "loop.html").symlink_to(folder / "loop.html")
    os.mkfifo(folder / "pipe.html")
    (folder / "folder.html").mkdir()
    return folder


async def test_reports_are_listed_newest_first_with_their_titles(service, start_page, reports):
    async with start_page(service.address, reports=str(reports)) as page:
        answer = await page.get("/reports")
        shown = re.findall(r'<td><a href="(/reports/[^"]*)"><bdi>([^<]*)', answer.text)
        assert [title for _, title in shown] == [
            "Deep",
            "run 1/&lt;i&gt;é.html",
            "Ranks",
            "First &amp; &lt;b&gt;best&lt;/b&gt;",
        ]
        for address, _ in shown:
            report = await page.get(address)
            assert report.status_code == 200
            assert report.text.startswith("<!DOCTYPE html>")
            assert report.headers["content-type"] == "text/html; charset=utf-8"


async def test_names_that_are_not_utf8_are_left_out(service, start_page, tmp_path):
    for name in (b"caf\xe9.html", b"r\xe9sultats/in.html", b"good.html"):
        file = tmp_path / os.fsdecode(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text("<title>t</title>")
    async with start_page(service.address, reports=str(tmp_path)) as page:
        answer = await page.get("/reports")
    assert answer.status_code == 200
    assert re.findall(r'<a href="(/reports/[^"]*)"', answer.text) == ["/reports/good.html"]


@pytest.mark.parametrize(
    ("document", "title"),
    [
        (b"<TITLE lang='en'>\n A &lt;b&gt; \xc3\xa9 </Title><title>no</title>", "A <b> é"),
        (b"</title><title>after</title>", "after"),
        (b"<title>\xff</title>", "\ufffd"),
        (b"<title>open", ""),
        (b"<title", ""),
        (b"", ""),
    ],
)
def test_the_title_of_a_document(document, title):
    assert find_title(document) == title


@pytest.mark.parametrize("part", [b"<title>", b"<title", b"<title></titl"])
def test_the_title_of_a_hostile_document_is_found_at_once(part):
    """A search that begins anew at each tag takes hours for this."""
    began = time.process_time()
    assert find_title(part * 1_000_000) == ""
    assert time.process_time() - began < 5


async def test_a_report_is_shown_in_a_sandbox(service, start_page, reports):
    async with start_page(service.address, reports=str(reports)) as page:
        report = await page.get("/reports/first.html")
        listing = await page.get("/reports")
    policy = {part.strip() for part in report.headers["content-security-policy"].split(";")}
    assert {"sandbox", "default-src 'none'", "style-src 'unsafe-inline'"} <= policy
    assert "script" not in report.headers["content-security-policy"]
    assert report.headers["x-content-type-options"] == "nosniff"
    assert report.headers["cache-control"] == "no-store"
    assert "unsafe-inline" not in listing.headers["content-security-policy"]


async def test_nothing_else_of_the_machine_is_shown(service, start_page, reports):
    async with start_page(service.address, reports=str(reports)) as page:
        await page.get("/")
        for path in (
            "link.html",
            "linked/secret.html",
            "loop.html",
            "pipe.html",
            "folder.html",
            ".no.html",
            ".hidden/no.html",
            "no.txt",
            "none.html",
            "../outside/secret.html",
            "..%2Foutside%2Fsecret.html",
            "run%201/..%2F..%2Foutside/secret.html",
            "%2Fetc%2Fpasswd",
            "/first.html",
            "first.html%00",
            "%00.html",
            "x" * 5_000 + ".html",
        ):
            answer = await page.http.get(f"{page.address}/reports/{path}")
            assert answer.status_code == 404, path
            assert "<title>No</title>" not in answer.text


@pytest.mark.parametrize("path", ["../outside/secret.html", "/etc/hosts.html", "link.html", ""])
def test_the_folder_refuses_what_is_outside(reports, path):
    with pytest.raises(NoSuchReport):
        ReportFolder(reports).find(path)


def test_a_link_within_the_folder_may_be_read(reports):
    assert ReportFolder(reports).find("inside.html") == (reports / "first.html").resolve()


async def test_many_reports_are_read_by_page(service, start_page, tmp_path):
    for number in range(120):
        (tmp_path / f"r{number}.html").write_text("<p>")
    found, address = set(), "/reports"
    async with start_page(service.address, reports=str(tmp_path)) as page:
        while address:
            answer = await page.get(address)
            names = re.findall(r"<bdi>(r\d+\.html)</bdi></td>", answer.text)
            assert 0 < len(names) <= 50
            found |= set(names)
            more = re.search(r'rel="next" href="([^"]*)"', answer.text)
            address = more[1] if more else ""
        assert len(found) == 120
        for wrong in ("0", "x", "-1", "9" * 30):
            assert (await page.get(f"/reports?page={wrong}")).status_code == 400


async def test_without_reports_the_page_says_what_to_do(service, start_page, tmp_path):
    async with start_page(service.address) as page:
        assert "was given no folder" in (await page.get("/reports")).text
        assert "was given no folder" in (await page.get("/reports/a.html")).text
    async with start_page(service.address, reports=str(tmp_path / "none")) as page:
        answer = await page.get("/reports")
        assert "cannot be read: No such file or directory" in answer.text
        assert str(tmp_path) not in answer.text
    (tmp_path / "empty").mkdir()
    async with start_page(service.address, reports=str(tmp_path / "empty")) as page:
        assert "The folder has no report here" in (await page.get("/reports")).text


@pytest.mark.parametrize("role", [Role.READ, Role.PERSONS, Role.ANALYST, Role.ADMIN])
async def test_reports_may_name_users_so_few_roles_see_them(
    start_service, start_page, reports, role
):
    sees = role in (Role.ANALYST, Role.ADMIN)
    async with (
        start_service(roles=(role,)) as service,
        start_page(service.address, reports=str(reports)) as page,
    ):
        await page.sign_in(service.token)
        assert ("first.html" in (await page.get("/reports")).text) is sees
        report = await page.get("/reports/first.html")
        assert ("<p>text</p>" in report.text) is sees
        assert sees or "roles analyst and admin only" in report.text
