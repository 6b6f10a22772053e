"""What every result does: print itself in a few lines, and become a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

OUTCOMES = ("accuracy", "lock_on", "recall")


class Result:
    """Printed to three digits, the three outcomes with their errors, tables by their shapes."""

    def to_dict(self) -> dict[str, Any]:
        """Return public fields by name as numbers, texts, lists and dictionaries."""
        return {name: _plain(value) for name, value in vars(self).items() if name[0] != "_"}

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if name[0] != "_"}
        errors = shown.pop("expected_error", None)
        if errors is None and isinstance(shown.get("error"), Result):
            errors = shown.pop("error")
        parts = []
        for name, value in shown.items():
            text = (
                f"{value:.3f}" if name in OUTCOMES and isinstance(value, float) else _short(value)
            )
            off = f" ± {getattr(errors, name):.3f}" if errors and name in OUTCOMES else ""
            parts.append(f"{name}={text}{off}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_short(part)}' for name, part in value.items())}}}"
    if hasattr(value, "shape"):
        return f"{tuple(value.shape)}"
    return f"{value:.3g}" if isinstance(value, float) else repr(value)
