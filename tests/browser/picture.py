"""Make docs/page.png, which the README opens with: the page of the demo's town.

Run `python -m tests.browser.picture [ADDRESS]`; ADDRESS is the page of a demo that runs already.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.chromium import Browser, open_browser
from tests.browser.conftest import ROOT, run_demo
from tests.browser.programs import install

PICTURE = ROOT / "docs" / "page.png"
PERSON = "nils"
LEAST_EVENTS = 3
WIDTH, HEIGHT = 1_200, 1_000
COLOURS = 128
MAX_BYTES = 200_000


def open_trace(browser: Browser) -> None:
    """Open the trace of a line that several people's choices led to.

    Raises:
        RuntimeError: There is none.
    """
    browser.open(f"/clients?kind=user&text={PERSON}")
    users = [one.get_attribute("href") for one in browser.find_all("main table a.client")]
    for user in users:
        browser.open(str(user).removeprefix(browser.address))
        links = browser.find_all("main a[href^='/trace?line=']")
        for trace in [str(link.get_attribute("href")) for link in links]:
            browser.open(trace.removeprefix(browser.address))
            found = re.search(r"rests on (\d+) events and 1 message", browser.text)
            if found and int(found[1]) >= LEAST_EVENTS:
                return
    raise RuntimeError(f"no line of {PERSON}'s profiles rests on {LEAST_EVENTS} events")


def take_picture(browser: Browser, file: Path) -> None:
    """Keep a small picture of a trace.

    Raises:
        RuntimeError: It has MAX_BYTES or more.
    """
    browser.resize(WIDTH, HEIGHT)
    open_trace(browser)
    whole = file.with_suffix(".whole.png")
    browser.keep_picture(whole, whole=False)
    packed = io.BytesIO()
    with Image.open(whole) as picture:
        picture.convert("RGB").quantize(COLOURS).save(packed, "PNG", optimize=True)
    whole.unlink()
    if len(packed.getvalue()) >= MAX_BYTES:
        raise RuntimeError(f"{file} would have {len(packed.getvalue()):,} bytes")
    file.write_bytes(packed.getvalue())


def main() -> int:
    """Make the picture; return the exit code."""
    if problem := install():
        print(f"No picture: {problem}.", file=sys.stderr)
        return 1
    if len(sys.argv) > 1:
        with open_browser(sys.argv[1].rstrip("/")) as browser:
            take_picture(browser, PICTURE)
    else:
        with (
            tempfile.TemporaryDirectory() as folder,
            run_demo(Path(folder)) as (_, address),
            open_browser(address) as browser,
        ):
            take_picture(browser, PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
