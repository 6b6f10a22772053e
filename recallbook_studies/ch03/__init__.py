"""Learning curves and finite rates (chapter 3)."""
