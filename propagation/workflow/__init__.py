"""RecNet 2.5, Algorithm 1: stage 0 (`bootstrap`, `new_epoch`), stage 1 (`interaction`,
`reasoning`), stage 2 (`round`, `perceiving`); `learner` keeps the numbers, `engine` puts the parts
together, and the rest is what reads ask for."""
