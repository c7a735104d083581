"""The database file: connections, threads, schema, lock, leases and ids."""

from propagation.adapters.sqlite.connection.backup_digest import (
    append_digest,
    copy_checked,
    is_backup,
)
from propagation.adapters.sqlite.connection.client_ids import (
    Directory,
    get_sequence_at,
    read_recorded_through,
)
from propagation.adapters.sqlite.connection.client_words import make_words
from propagation.adapters.sqlite.connection.database import Database, free_all
from propagation.adapters.sqlite.connection.json_rows import (
    LAST_WITHDRAWAL,
    put,
    put_json,
    raise_progress,
    read_fact,
    read_many,
    read_next_number,
    read_one,
    read_progress,
    set_progress,
    spread_fields,
    to_json,
)
from propagation.adapters.sqlite.connection.leases import SqliteLeases
from propagation.adapters.sqlite.connection.lock import hold_database
from propagation.adapters.sqlite.connection.schema import (
    NEW_COLUMNS,
    ROW_STEPS,
    ReadConnection,
    check_ours,
    check_schema,
    connect,
    create_tables,
    get_newest_version,
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
