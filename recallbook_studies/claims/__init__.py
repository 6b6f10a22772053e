"""Public claims about the paper, and the check that decides each."""
