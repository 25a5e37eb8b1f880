"""What a step computes: update rules as pure functions of arrays, and the ways in which they run."""
