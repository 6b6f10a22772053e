r"""The ladder: every rung is its parent with one thing changed, from three steps on the book's
model upwards. Ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rung:
    r"""One model and how it is trained. The defaults are the book's.

    Attributes
    ----------
    name : str
    parent : str or None
        The rung that this one differs from, in the field ``change`` alone.
    change : str or None
    steps : str
        ``"three"``: values, attention, values in the early-phase limit. ``"many"``: all weights at
        once.
    data : str
        ``"full"``: all N sequences in every step. ``"minibatches"``: epochs through them, each in a
        new order.
    rates : str
        ``"book"``: $\eta=LV/200$ and $\gamma=L/20$. ``"tuned"``: times a factor, or a rate, that
        was searched for.
    optimiser : str
        ``"sgd"``: plain, at constant rates. ``"adamw"``: warm-up, cosine decay, weight decay.
    marked_values : bool
        Whether the values carry the trigger ($\tau=1$); with a library's attention they do.
    learned : bool
        Whether embeddings, trigger and end token move; they start where they are drawn.
    positions : bool
        Whether a learned embedding of the position is added; it starts at zero.
    heads : int or None
        ``None``: the book's attention, two $d\times d$ matrices from zero, blind to the end token
        itself. An integer: ``torch.nn.MultiheadAttention`` as it comes, from random weights.
    residual : bool
        Layer norm before each part of a layer and before the output, and what a layer reads is
        added to the stream.
    mlp : bool
        Two linear maps with a GELU between them, width $4d$.
    trigger : str
        ``"feature"``: a vector added to the informative token. ``"marker"``: a token of its own
        before it.
    layers : int
    """

    name: str
    parent: str | None = None
    change: str | None = None
    steps: str = "three"
    data: str = "full"
    rates: str = "book"
    optimiser: str = "sgd"
    marked_values: bool = False
    learned: bool = False
    positions: bool = False
    heads: int | None = None
    residual: bool = False
    mlp: bool = False
    trigger: str = "feature"
    layers: int = 1


def _climb(*changes: tuple[str, str, Any]) -> tuple[Rung, ...]:
    """The ladder from its changes: the name of a rung, the field that it changes, and to what."""
    rungs = [Rung(name="three steps")]
    for name, field, value in changes:
        parent = rungs[-1]
        change: dict[str, Any] = {field: value, "change": field}
        rungs.append(replace(parent, name=name, parent=parent.name, **change))
    return tuple(rungs)


LADDER = _climb(
    ("many steps", "steps", "many"),
    ("minibatches", "data", "minibatches"),
    ("tuned rates", "rates", "tuned"),
    ("AdamW", "optimiser", "adamw"),
    ("trigger in the values", "marked_values", True),
    ("learned embeddings", "learned", True),
    ("positions", "positions", True),
    ("library attention", "heads", 1),
    ("four heads", "heads", 4),
    ("residual and norm", "residual", True),
    ("MLP", "mlp", True),
    ("marker token", "trigger", "marker"),
    ("second layer", "layers", 2),
)
RUNGS = {rung.name: rung for rung in LADDER}
# beside the ladder: what "four heads" is with another number of them
BRANCHES = tuple(
    replace(RUNGS["four heads"], name=name, heads=heads)
    for name, heads in (("two heads", 2), ("eight heads", 8))
)
RUNGS |= {rung.name: rung for rung in BRANCHES}
