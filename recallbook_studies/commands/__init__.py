"""What ``python -m recallbook`` can do: found by one entry point."""

from __future__ import annotations

from typing import Any

from recallbook_studies.commands import plan, predicting, sweeping


def add(commands: Any, shape: dict[str, Any]) -> str:
    """Add all commands to the parser's; return what is listed at the end of its help."""
    predicting.add_predict(commands, shape)
    predicting.add_examine(commands, shape)
    plan.add_plan(commands, shape)
    return sweeping.add(commands, shape)
