"""Reads a dataset as training would, and says what became of every row. Only ever a process of its own."""
