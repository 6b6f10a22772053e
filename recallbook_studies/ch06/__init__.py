"""Recall with perfect attention, critical sizes, finite rates, certificates (chapter 6)."""
