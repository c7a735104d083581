"""`propagation model-check`: measures a model with the service's own questions."""
