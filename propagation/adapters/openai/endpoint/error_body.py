"""Bodies of errors, which may have any form."""

import re
from collections.abc import Mapping
from html import unescape

ERROR_CHARS, PAGE_CHARS, PAGE_READ_CHARS = 300, 80, 4_000
PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|center|h1)\b", re.IGNORECASE)
TITLE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
MARKUP = re.compile(r"<[^>]*>")


def read_error_message(body: object) -> str:
    """Return the message of an error's body in one line.

    The body may have any form. Of a web page only the title is returned.
    """
    error = (body.get("error") or body) if isinstance(body, Mapping) else body
    if is_web_page(error):
        return _describe_page(str(error))
    if isinstance(error, Mapping):
        parts = (error.get(name) for name in ("message", "detail", "code", "type"))
        error = " ".join(str(part) for part in parts if part)
    return " ".join(str(error or "").split())[:ERROR_CHARS]


def is_web_page(body: object) -> bool:
    """Tell whether an error's body is a page for browsers."""
    return isinstance(body, str) and PAGE.match(body) is not None


def _describe_page(page: str) -> str:
    """Return the title or the first words of a page."""
    page = page[:PAGE_READ_CHARS]
    found = TITLE.search(page)
    words = unescape(MARKUP.sub(" ", found[2] if found else page)).split()
    return f'a web page, "{" ".join(words)[:PAGE_CHARS]}"' if words else "a web page"
