"""The comment lines that open a file of cypher/."""

import re
from pathlib import Path

LINE = re.compile(r"^// (name|purpose|parameters|scans): (.+)$", re.MULTILINE)


def read_header(name: str) -> dict[str, str]:
    return dict(LINE.findall(Path("cypher", f"{name}.cypher").read_text()))
