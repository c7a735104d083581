"""The gRPC server: the interceptor around calls, their handlers, requests and conversion."""
