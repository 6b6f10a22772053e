"""Readers of one gradient against the bound (chapter 8)."""
