"""What runs: gRPC server, worker, command line, settings and telemetry."""
