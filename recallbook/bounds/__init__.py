"""What can be read from the gradient at initialisation: the information bound, decoders, and the
way around."""
