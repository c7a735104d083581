"""Make docs/page.png, which the README opens with: the page of the demo's town.

Run `python -m tests.browser.picture [ADDRESS]`; ADDRESS is the page of a demo that runs already.
"""

import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.browser.chromium import Browser, open_browser
from tests.browser.conftest import ROOT, run_demo
from tests.browser.programs import install

PICTURE = ROOT / "docs" / "page.png"
VIEW = "/routers"
WIDTH, HEIGHT = 1_200, 900
COLOURS = 128
MAX_BYTES = 200_000


def take_picture(browser: Browser, file: Path) -> None:
    """Keep a small picture of the view.

    Raises:
        RuntimeError: It has MAX_BYTES or more.
    """
    browser.resize(WIDTH, HEIGHT)
    browser.open(VIEW)
    time.sleep(3)  # the first live frames
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
