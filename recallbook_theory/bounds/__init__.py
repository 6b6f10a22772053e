"""What the gradient at initialisation holds at most, and at least: bounds and certificates."""
