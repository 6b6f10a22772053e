"""Signal and noise of the attention vector (chapter 5)."""
