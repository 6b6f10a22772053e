"""From the book's model to a transformer that people would train, one change at a time."""
