"""The file: connections, threads, schema, lock, leases, ids in memory."""

from propagation.adapters.sqlite.connection.atomic_file import (
    BESIDE,
    begun,
    drop_begun,
    made_in_place,
)
from propagation.adapters.sqlite.connection.client_ids import (
    Directory,
    recorded_through,
    sequence_at,
)
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import (
    TAKEN_BACK,
    counted,
    dumped,
    fields,
    many,
    one,
    progress_of,
    put,
    put_json,
    raise_progress,
    set_progress,
)
from propagation.adapters.sqlite.connection.leases import SqliteLeases, free_all
from propagation.adapters.sqlite.connection.lock import held
from propagation.adapters.sqlite.connection.schema import (
    DEVELOPMENT_APPLICATION_ID,
    Reader,
    check_ours,
    connect,
    create_tables,
    errors_translated,
    newest_version,
    open_file,
    open_reader,
)
from propagation.adapters.sqlite.connection.transactions import (
    SqlitePart,
    reads,
    writes,
    writes_under_lease,
)

__all__ = [
    "BESIDE",
    "DEVELOPMENT_APPLICATION_ID",
    "TAKEN_BACK",
    "Database",
    "Directory",
    "Reader",
    "SqliteLeases",
    "SqlitePart",
    "begun",
    "check_ours",
    "connect",
    "counted",
    "create_tables",
    "drop_begun",
    "dumped",
    "errors_translated",
    "fields",
    "free_all",
    "held",
    "made_in_place",
    "many",
    "newest_version",
    "one",
    "open_file",
    "open_reader",
    "progress_of",
    "put",
    "put_json",
    "raise_progress",
    "reads",
    "recorded_through",
    "sequence_at",
    "set_progress",
    "writes",
    "writes_under_lease",
]
