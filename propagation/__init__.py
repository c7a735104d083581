"""Preference propagation after RecNet: the library.

Read it top-down: workflow, mechanisms, ports, model.
"""
