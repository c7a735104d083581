"""The laboratory's baselines, in the environment that `make baselines` installs."""
