"""What an optimizer keeps between steps: memory that is shared, steps taken back, states swapped."""
