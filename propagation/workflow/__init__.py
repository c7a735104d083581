"""Algorithm 1 (RecNet 2.5): the engine, its composition and its activities."""
