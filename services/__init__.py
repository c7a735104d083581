"""What runs: the gRPC server, its worker, the command line, settings and telemetry."""
