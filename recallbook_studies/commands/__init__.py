"""What ``python -m recallbook`` can do: found by one entry point."""

from __future__ import annotations

from typing import Any

from recallbook_studies.commands import predicting


def add(commands: Any, shape: dict[str, Any], chosen: str) -> str:
    """Add commands to the parser's, no more than it takes to find the chosen one, because the later
    ones bring slow libraries; return what is listed at the end of its help."""
    predicting.add_predict(commands, shape)
    if chosen == "predict":
        return ""
    from recallbook_studies.commands import examining

    examining.add_examine(commands, shape)
    if chosen == "examine":
        return ""
    from recallbook_studies.commands import sweeping

    return sweeping.add(commands, shape)
