"""The vector index on a Qdrant server (or the client's local mode): `qdrant-client`, async, over
gRPC."""
