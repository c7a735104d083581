"""Evolution of routers (RecNet 2.4): plan from gradients, judge on a holdout, publish, undo."""
