"""The file: connections, threads, schema, lock, leases, ids in memory."""
