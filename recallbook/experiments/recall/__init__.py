"""Recall with perfect attention, critical sizes, finite rates (chapter 6)."""
