"""The process that reasons beside the service, on two pipes: the offline reasoner computes, and
calls are answered meanwhile."""
