"""What an operator watches: Prometheus metrics, OpenTelemetry traces, and the dashboard that reads
them. Off by default; what is off is not imported."""
