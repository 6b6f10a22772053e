"""Measurements made for claims about the paper (chapter 10)."""
