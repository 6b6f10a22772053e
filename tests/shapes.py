"""What checks shapes while tests run: beartype on the annotations of arrays, and on no others.

Wrong scalars and objects have to reach the package's own checks, whose messages are tested.
"""

import re
from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

ARRAYS = re.compile(
    r"\b(Float|Float64|Int|Int32|Int64|Bool|Real|Shaped)\[|\b(Points|Coefficients|Slack|Table)\b"
)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the shapes in its annotations checked at every call."""
    kept = {
        name: hint if ARRAYS.search(str(hint)) else object
        for name, hint in function.__annotations__.items()
    }
    function.__annotations__ = kept
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(
        function
    )  # an int where a float is asked for
