"""Losses: of classes, of distances and rankings, of alignments."""
