"""Facts that are not equally frequent, and embeddings that are not drawn (chapter 11)."""
