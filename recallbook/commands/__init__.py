"""The commands of ``python -m recallbook``: each module adds its own to the parser."""
