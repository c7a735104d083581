"""The connection to the server: statements, transactions, errors, schema, leases."""
