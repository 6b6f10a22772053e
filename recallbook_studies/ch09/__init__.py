"""The committed sweeps behind the laws of N, d and L (chapter 9)."""
