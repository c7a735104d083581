"""Programs: gRPC server, worker, command line, settings and telemetry."""
