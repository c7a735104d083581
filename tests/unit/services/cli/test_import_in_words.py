"""What `propagation import` says when it is done."""

from collections import Counter

from propagation.datasets.dataset import Events, assemble
from services.cli.research.datasets import describe_report
from services.client.upload import UploadReport


def test_one_of_each_is_said_in_the_singular():
    report = UploadReport(1, 1, Counter(accepted=1, rejected=1), ["event 'e': weight is 0"])
    first, second, example = describe_report(assemble("x", {}, {}, Events("x"), 7), report)
    assert first.startswith("x: 1 client (1 new or changed)")
    assert first.endswith("1 accepted, 0 duplicate, 1 rejected")
    assert "1 new event;" in second
    assert "Not loaded: 1 event." in second
    assert example == "rejected: event 'e': weight is 0"
