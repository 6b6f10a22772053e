"""What guessing scores (chapter 1)."""
