"""The MLP as memory (chapter 7)."""
