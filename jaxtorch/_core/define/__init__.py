"""define."""
