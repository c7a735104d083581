"""Our log lines and those of libraries have one form."""

import json
import subprocess
import sys

SCRIPT = """
import logging, structlog
from services.runtime.logs import configure_logging
configure_logging("json")
structlog.get_logger().info("ours", count=2)
try:
    raise ValueError("told")
except ValueError:
    log = logging.getLogger("propagation.workflow.reason.cold_start")
    log.warning("client %d is not described yet", 1, exc_info=True)
"""


def test_json_is_one_object_a_line_also_of_what_libraries_log():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    ours, theirs = [json.loads(line) for line in done.stderr.splitlines()]
    assert (ours["event"], ours["count"], ours["level"]) == ("ours", 2, "info")
    assert (theirs["event"], theirs["level"], theirs["logger"]) == (
        "client 1 is not described yet",
        "warning",
        "propagation.workflow.reason.cold_start",
    )
    assert theirs["timestamp"]
    assert theirs["exception"][0]["exc_value"] == "told"
