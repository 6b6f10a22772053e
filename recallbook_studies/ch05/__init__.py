"""Signal and noise of the attention vector, and their enumeration (chapter 5)."""
