"""Gradients derived by SymPy (chapter 4)."""
