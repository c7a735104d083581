"""Methods that are programs, and what they exchange with the run."""

from propagation.laboratory.methods.program.program import Program

__all__ = ["Program"]
