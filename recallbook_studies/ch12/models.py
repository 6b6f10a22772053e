"""The models of the ladder: how a sequence is written for them, the book's attention with what each
rung adds to it, then the library's layers."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from recallbook.data.task import Problem, Sequences
from recallbook_studies.ch12.rungs import Rung

MLP_WIDTH = 4  # of the dimension
NOWHERE = -1  # no position carries the trigger's vector


class Written(NamedTuple):
    """Tokens ``(n, T)`` with the end token last; where the trigger's vector is added and where the
    informative token stands, ``(n,)`` each; labels ``(n,)``."""

    tokens: Int64[Tensor, "n T"]
    marked: Int64[Tensor, " n"]
    informative: Int64[Tensor, " n"]
    labels: Int64[Tensor, " n"]


def write(sequences: Sequences, trigger: str, vocab: int) -> Written:
    r"""Write the sequences with this trigger for a model that reads tokens alone: V is the end token
    that asks, V + 1 the marker.

    ``"feature"``: $x_1..x_L$, end; the model adds the trigger's vector at $\ell$. ``"marker"``: a
    marker token comes before $x_\ell$. Labels stay as they are.
    """
    tokens, informative = sequences.tokens.long(), sequences.positions
    marked = informative
    if trigger == "marker":
        marked = torch.full_like(informative, NOWHERE)
        places = torch.arange(tokens.shape[1] + 1, device=tokens.device)  # (L + 1,)
        source = places - (places > informative[:, None]).long()  # (n, L + 1)
        moved = tokens.gather(1, source.clamp(max=tokens.shape[1] - 1))
        tokens = torch.where(places == informative[:, None], vocab + 1, moved)
        informative = informative + 1
    ends = torch.full_like(tokens[:, :1], vocab)
    return Written(torch.cat([tokens, ends], dim=1), marked, informative, sequences.labels)


def repeated(problem: Problem) -> Sequences:
    """One sequence for each fact, whose L tokens all are the one asked about: what is answered if
    it cannot be missed.

    Positions go round.
    """
    vocab, length = problem.setting.vocab, problem.setting.seq_len
    facts = torch.arange(vocab, device=problem.device)
    tokens = facts.int()[:, None].expand(vocab, length)
    return Sequences(tokens, facts % length, problem.permutation)


class BookAttention(nn.Module):
    r"""$a=\mathrm{softmax}_j(e_j^\top W_{KQ}q)$ and $W_V\sum_ja_je'_j$, from zero: the book's own
    two matrices."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(dim, dim))
        self.key_query = nn.Parameter(torch.zeros(dim, dim))

    def forward(
        self, keys: Float[Tensor, "B T d"], values: Float[Tensor, "B T d"]
    ) -> tuple[Float[Tensor, "B 1 d"], Float[Tensor, "B 1 1 T"]]:
        """What the last position reads, and its weights: none on itself."""
        query = keys[:, -1] @ self.key_query.T  # (B, d)
        weights = torch.softmax((keys[:, :-1] @ query[:, :, None])[..., 0], dim=1)  # (B, T - 1)
        located = weights[:, None] @ values[:, :-1]  # (B, 1, d)
        return located @ self.value.T, nn.functional.pad(weights, (0, 1))[:, None, None]


class Layer(nn.Module):
    r"""The library's attention; with ``residual`` and ``mlp`` it is
    ``torch.nn.TransformerEncoderLayer``, norm first.

    $x\mapsto x+\mathrm{Attention}(\mathrm{LN}(x))$, then $x\mapsto
    x+W_2\,\mathrm{GELU}(W_1\mathrm{LN}(x))$. Built from the library's parts because a library's
    layer keeps its attention weights to itself, and because the last layer need only answer for the
    last position."""

    def __init__(self, dim: int, rung: Rung) -> None:
        super().__init__()
        assert rung.heads is not None
        self.self_attn = nn.MultiheadAttention(dim, rung.heads, batch_first=True)
        self.rung = rung
        self.norm1 = nn.LayerNorm(dim) if rung.residual else nn.Identity()
        if rung.mlp:
            self.norm2 = nn.LayerNorm(dim)
            self.linear1 = nn.Linear(dim, MLP_WIDTH * dim)
            self.linear2 = nn.Linear(MLP_WIDTH * dim, dim)

    def forward(
        self, stream: Float[Tensor, "B T d"], only_last: bool
    ) -> tuple[Float[Tensor, "B asked d"], Float[Tensor, "B H asked T"]]:
        """The stream after this layer, at the last position or at all, and attention weights from
        there."""
        normed = self.norm1(stream)
        length, mask, asked = stream.shape[1], None, normed[:, -1:]
        if not only_last:
            asked = normed
            mask = torch.ones(length, length, dtype=torch.bool, device=stream.device).triu(
                1
            )  # True: not seen
        read, weights = self.self_attn(
            asked, normed, normed, attn_mask=mask, need_weights=True, average_attn_weights=False
        )
        if self.rung.residual:
            read = read + (stream[:, -1:] if only_last else stream)
        if self.rung.mlp:
            read = read + self.linear2(nn.functional.gelu(self.linear1(self.norm2(read))))
        return read, weights


class LadderModel(nn.Module):
    r"""The model of one rung: tokens to logits of the label at the last position.

    Starts from the problem's embeddings: rows of $Z$, $z_{\rm EOS}$ for the end token and, with a
    marker token, the trigger's vector for it; $U$ for the output. They are parameters if the rung
    learns them. Positions start at zero; the book's attention starts at zero; the library's parts
    as the library starts them, after ``torch.manual_seed(problem.seed)`` (the caller's own state is
    left alone)."""

    def __init__(self, rung: Rung, problem: Problem) -> None:
        super().__init__()
        setting = problem.setting
        vocab, dim = setting.vocab, setting.dim
        self.rung = rung
        rows = [problem.input_embeddings, problem.query[None]]
        rows += [problem.trigger[None]] if rung.trigger == "marker" else []
        added = len(rows) - 1  # tokens: the end, and a marker
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(problem.seed)
            self.book = BookAttention(dim) if rung.heads is None else None
            self.layers = nn.ModuleList(
                [Layer(dim, rung) for _ in range(rung.layers if rung.heads else 0)]
            )
            self.embedding = nn.Embedding(vocab + added, dim)
            self.output = nn.Linear(dim, vocab, bias=False)
        self.embedding.weight = nn.Parameter(torch.cat(rows), requires_grad=rung.learned)
        self.output.weight = nn.Parameter(
            problem.output_embeddings.clone(), requires_grad=rung.learned
        )
        self.trigger = None
        if rung.trigger == "feature":
            self.trigger = nn.Parameter(problem.trigger.clone(), requires_grad=rung.learned)
        places = torch.zeros(setting.seq_len + added, dim)
        self.positions = nn.Parameter(places) if rung.positions else None
        self.norm = nn.LayerNorm(dim) if rung.residual else nn.Identity()
        self.to(problem.device, problem.dtype)

    def forward(
        self, tokens: Int64[Tensor, "B T"], marked: Int64[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], list[Float[Tensor, "B H asked T"]]]:
        """Logits ``(B, V)``, and the attention weights of each layer. The trigger is added at
        the place ``marked``."""
        plain = self.embedding(tokens)
        if self.positions is not None:
            plain = plain + self.positions
        stream = plain
        if self.trigger is not None:
            places = torch.arange(tokens.shape[1], device=tokens.device)
            here = places == marked[:, None]  # (B, T)
            stream = plain + here[..., None] * self.trigger
        seen = []
        if self.book is not None:
            stream, weights = self.book(stream, stream if self.rung.marked_values else plain)
            seen.append(weights)
        for number, layer in enumerate(self.layers, start=1):
            stream, weights = layer(stream, only_last=number == len(self.layers))
            seen.append(weights)
        last = stream[:, -1]
        return self.output(self.norm(last)), seen
