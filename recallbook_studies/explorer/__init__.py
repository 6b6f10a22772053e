"""The page on which a reader moves the sizes: its table of predictions, and the scripts made from
expressions."""
