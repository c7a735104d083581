"""Methods that ask a language model, and what they share."""

from propagation.laboratory.methods.asking.asking_method import (
    Ask,
    AskingMethod,
    Calls,
    asks_model,
)

__all__ = ["Ask", "AskingMethod", "Calls", "asks_model"]
