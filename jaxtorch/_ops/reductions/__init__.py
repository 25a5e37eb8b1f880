"""Along dimensions: sums and extremes, running sums, statistics, histograms, sorting."""
