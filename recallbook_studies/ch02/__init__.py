"""Memories without attention: sums of outer products, and memories trained to convergence (chapter
2)."""
