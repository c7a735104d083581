"""The vector index on a Qdrant server, through `qdrant-client` over gRPC."""
