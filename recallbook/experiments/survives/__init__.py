"""What survives in a transformer that people would train: the ladder, swept (chapter 12)."""
