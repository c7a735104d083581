"""Evolution of routers: plan from gradients, judge on a holdout, publish, undo.

Source: RecNet 2.4.
"""
