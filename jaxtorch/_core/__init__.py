"""The engine; README.md says what each file does."""
