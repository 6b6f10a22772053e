"""From the book's model to a transformer that people would train: the ladder, and its sweep
(chapter 12)."""
