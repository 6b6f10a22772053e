"""The laboratory beside :mod:`recallbook`: one folder a chapter, the claims, the explorer, and what
they share."""
