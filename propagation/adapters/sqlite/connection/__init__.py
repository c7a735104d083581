"""The file: connections, threads, schema, lock, leases, ids in memory."""

from propagation.adapters.sqlite.connection.backup_digest import (
    append_digest,
    copy_checked,
    is_backup,
)
from propagation.adapters.sqlite.connection.client_ids import (
    Directory,
    recorded_through,
    sequence_at,
)
from propagation.adapters.sqlite.connection.database import Database, free_all
from propagation.adapters.sqlite.connection.json_rows import (
    LAST_WITHDRAWAL,
    fact_of,
    fields,
    many,
    next_number,
    one,
    progress_of,
    put,
    put_json,
    raise_progress,
    set_progress,
    to_json,
)
from propagation.adapters.sqlite.connection.leases import SqliteLeases
from propagation.adapters.sqlite.connection.lock import hold_database
from propagation.adapters.sqlite.connection.schema import (
    Reader,
    check_ours,
    check_schema,
    connect,
    create_tables,
    newest_version,
    open_file,
    open_reader,
    translate_errors,
)
from propagation.adapters.sqlite.connection.transactions import (
    SqlitePart,
    reads,
    writes,
    writes_under_lease,
)

__all__ = [
    "LAST_WITHDRAWAL",
    "Database",
    "Directory",
    "Reader",
    "SqliteLeases",
    "SqlitePart",
    "append_digest",
    "check_ours",
    "check_schema",
    "connect",
    "copy_checked",
    "create_tables",
    "fact_of",
    "fields",
    "free_all",
    "hold_database",
    "is_backup",
    "many",
    "newest_version",
    "next_number",
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
    "to_json",
    "translate_errors",
    "writes",
    "writes_under_lease",
]
