"""All mathematics: pure functions on arrays, a folder a family; `families` loads them all."""
