"""RecNet 2.3, personalised preference reception: the buffer (2.3.1), the filter memory (2.3.2), the
merge (eq. 5)."""
