"""The model: ties, attention over chunks, and the transformer written plainly."""
