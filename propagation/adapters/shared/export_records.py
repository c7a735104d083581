"""Records of a client's export that every graph store makes alike."""

from collections.abc import Mapping

from propagation.adapters.shared.filter_rules import rule_row
from propagation.model import ClientText, Line, Source


def version_record(
    text: ClientText, sequence: int, written_at: int, written_by: str | None
) -> Mapping[str, object]:
    """Return the record of a profile version with its lines and filter rules."""
    return {
        "version": text.profile.version,
        "sequence": sequence,
        "written_at": written_at,
        "written_by": written_by or "",
        "merged_through_round": text.watermark,
        "dropped": text.dropped,
        "lines": [_line(line) for line in text.profile.lines],
        "filter_rules": [rule_row(rule) for rule in text.filter_memory.rules],
    }


def _line(line: Line) -> dict[str, object]:
    return {
        "id": line.id,
        "text": line.text,
        "attributes": list(line.attributes),
        "weight": line.weight,
        "author": line.author.value,
        "sources": [_source(source) for source in line.sources],
    }


def _source(source: Source) -> dict[str, object]:
    if source.router is None:
        return {"sequence": source.sequence}
    return {"router": source.router, "version": source.version}
