"""How a sequence is written for a model that reads tokens alone: an end token, and a marker or
none."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Int64
from torch import Tensor

from recallbook.data.task import Sequences

NOWHERE = -1  # no position carries the trigger's vector


class Written(NamedTuple):
    """Tokens ``(n, T)`` with the end token last; where the trigger's vector is added and where the
    informative token stands, ``(n,)`` each; labels ``(n,)``."""

    tokens: Int64[Tensor, "n T"]
    marked: Int64[Tensor, " n"]
    informative: Int64[Tensor, " n"]
    labels: Int64[Tensor, " n"]


def end_token(vocab: int) -> int:
    """The token that asks."""
    return vocab


def marker_token(vocab: int) -> int:
    """The token that stands before the informative one, if the trigger is a marker."""
    return vocab + 1


def write(sequences: Sequences, trigger: str, vocab: int) -> Written:
    r"""The sequences with this trigger.

    ``"feature"``: $x_1..x_L$, end; the model adds the trigger's vector at $\ell$. ``"marker"``: a
    marker token comes before $x_\ell$. Labels stay as they are.
    """
    tokens, informative = sequences.tokens.long(), sequences.positions
    marked = torch.full_like(informative, NOWHERE)
    if trigger == "feature":
        marked = informative
    else:
        tokens = _with_marker(tokens, informative, marker_token(vocab))
        informative = informative + 1
    ends = torch.full_like(tokens[:, :1], end_token(vocab))
    return Written(torch.cat([tokens, ends], dim=1), marked, informative, sequences.labels)


def _with_marker(
    tokens: Int64[Tensor, "n L"], positions: Int64[Tensor, " n"], marker: int
) -> Int64[Tensor, "n longer"]:
    places = torch.arange(tokens.shape[1] + 1, device=tokens.device)  # (L + 1,)
    source = places - (places > positions[:, None]).long()  # (n, L + 1)
    found = tokens.gather(1, source.clamp(max=tokens.shape[1] - 1))
    return torch.where(places == positions[:, None], marker, found)


def repeated(vocab: int, seq_len: int, permutation: Int64[Tensor, " V"]) -> Sequences:
    """One sequence for each fact, whose L tokens all are the one asked about: what is answered if
    it cannot be missed.

    Positions go round.
    """
    facts = torch.arange(vocab, device=permutation.device)
    return Sequences(facts.int()[:, None].expand(vocab, seq_len), facts % seq_len, permutation)
