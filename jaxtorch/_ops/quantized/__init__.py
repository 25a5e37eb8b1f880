"""Numbers of a few bits that stand for others, and rounding to their values."""
