"""The token-retrieval task: sequences with one marked token, whose label is a fixed fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int, Int32, Int64
from torch import Tensor

from recallbook.arguments import (
    Device,
    check_choice,
    check_device,
    check_drawn,
    check_dtype,
    check_seed,
    check_size,
    not_allowed,
)
from recallbook.data.embeddings import (
    Embeddings,
    draw_embeddings,
    own_tables,
)
from recallbook.data.streams import gaussian_table, stream, uniform_integers
from recallbook.memory_needs import draw_needs, require_memory, sequences as sequences_needs
from recallbook.setting import Setting, fact_frequencies, other_frequencies

STREAMS = ("tokens", "positions", "marked")  # of a batch, after its role


def tokens_of_law(
    generator: np.random.Generator, law: Float64[np.ndarray, " V"], count: int
) -> Int32[np.ndarray, " count"]:
    """Draw ``count`` tokens of a law, by one uniform number each; fewer are the first of more."""
    if np.all(law == law[0]):
        return uniform_integers(generator, len(law), count)
    edges = np.cumsum(law)
    found = np.searchsorted(edges / edges[-1], generator.random(count), side="right")
    return np.asarray(np.minimum(found, len(law) - 1), dtype=np.int32)


def balanced_tokens(
    generator: np.random.Generator, vocab: int, count: int
) -> Int32[np.ndarray, " count"]:
    """Every token once in each run of ``vocab``, in random order; fewer are the first of more."""
    runs = [generator.permutation(vocab) for _ in range(-(-count // vocab))]
    return np.asarray(np.concatenate(runs)[:count], dtype=np.int32)


class Sequences(NamedTuple):
    """Tokens ``(n, L)`` int32, informative positions and labels ``(n,)`` int64, from 0."""

    tokens: Int[Tensor, "n L"]
    positions: Int64[Tensor, " n"]
    labels: Int64[Tensor, " n"]


# fields of a problem, by what its tables are called where they are the caller's own
_FIELDS = ("input_embeddings", "output_embeddings", "trigger", "query")
EMBEDDED = dict(zip(Embeddings._fields, _FIELDS, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""One draw of the task (def-task, chapter 1): facts, embeddings and the fixed batch of training
    sequences.

    Attributes
    ----------
    setting, seed
    tokens : Tensor ``(N, L)`` int32
        $x_{ij}$ in $0..V-1$, uniform or by Zipf's law; the one large tensor, so in the smaller type
        that indexes.
    positions : Tensor ``(N,)`` int64
        $\ell_i$, uniform on $0..L-1$: where the trigger sits.
    labels : Tensor ``(N,)`` int64
        $y_i=\pi(x_{i\ell_i})$.
    permutation : Tensor ``(V,)`` int64
        The facts $\pi$.
    input_embeddings, output_embeddings : Tensor ``(V, d)``
        $Z$ and $U$.
    trigger, query : Tensor ``(d,)``
        $t=z_{\rm trig}$ and $z_{\rm EOS}$.
    mlp_weights : Tensor ``(m, d)`` or None
        $W_{\rm in}$, rows $N(0,I/s^2)$ with $s^2$ = ``setting.mlp_input_scale``.
    own : tuple of str
        Which embeddings are the caller's own, of ``"input"``, ``"output"``, ``"trigger"`` and
        ``"query"``; ``setting.embeddings`` is the law of the others.
    """

    setting: Setting
    seed: int
    tokens: Int[Tensor, "N L"]
    positions: Int64[Tensor, " N"]
    labels: Int64[Tensor, " N"]
    permutation: Int64[Tensor, " V"]
    input_embeddings: Float[Tensor, "V d"]
    output_embeddings: Float[Tensor, "V d"]
    trigger: Float[Tensor, " d"]
    query: Float[Tensor, " d"]
    mlp_weights: Float[Tensor, "m d"] | None
    own: tuple[str, ...] = ()

    def __repr__(self) -> str:
        own = f", own={self.own}" if self.own else ""
        return f"Problem({self.setting}, seed={self.seed}, dtype={self.dtype}, device='{self.device}'{own})"

    @property
    def sequences(self) -> Sequences:
        """The training batch."""
        return Sequences(self.tokens, self.positions, self.labels)

    @property
    def dtype(self) -> torch.dtype:
        """Floating type of the embeddings."""
        return self.input_embeddings.dtype

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.input_embeddings.device

    def to(self, dtype: torch.dtype | None = None, device: Device | None = None) -> Problem:
        """The same problem in another floating type or on another device."""
        dtype = self.dtype if dtype is None else check_dtype("dtype", dtype)
        device = self.device if device is None else check_device("device", device)
        if (dtype, device) == (self.dtype, self.device):
            return self
        moved: dict[str, Any] = {
            name: part.to(device=device, dtype=dtype if part.is_floating_point() else None)
            for name, part in vars(self).items()
            if isinstance(part, torch.Tensor)
        }
        return replace(self, **moved)

    def with_batch(self, sequences: Sequences, field: str = "sequences") -> Problem:
        """The same facts and embeddings, with these training sequences."""
        allowed = f"Sequences of {self.setting.seq_len} tokens, as problem.fresh draws them"
        if not isinstance(sequences, Sequences):
            raise not_allowed(field, sequences, allowed)
        count, length = sequences.tokens.shape
        if length != self.setting.seq_len:
            raise not_allowed(field, f"of {length} tokens", allowed)
        setting = replace(self.setting, samples=count)
        return replace(self, setting=setting, **sequences._asdict())

    def fresh(
        self, count: int, seed: int | None = None, *, role: str = "test", block: int = 0
    ) -> Sequences:
        """Draw ``count`` new sequences about the same facts, independent of the training batch.

        ``seed=None`` is the problem's own seed. ``role`` is ``"test"``, or ``"batch"`` for more to
        train on (balanced if the setting is); each has streams of its own, and so has each
        ``block`` of a role."""
        count, role = check_size("count", count), check_choice("role", role, ("test", "batch"))
        seed = self.seed if seed is None else check_seed("seed", seed)
        require_memory(sequences_needs(self.setting, count, "count"), "the sequences")
        permutation = self.permutation.cpu().numpy()
        sequences = _sample(self.setting, count, permutation, seed, prefix=role + "_", block=block)
        return Sequences(*(part.to(self.device) for part in sequences))


def _sample(
    setting: Setting,
    count: int,
    permutation: Int[np.ndarray, " V"],
    seed: int,
    *,
    prefix: str = "",
    block: int = 0,
) -> Sequences:
    """Sequences on the host; for one stream a smaller ``count`` is a prefix of a larger one."""
    length = setting.seq_len
    others, facts = other_frequencies(setting), fact_frequencies(setting)
    streams = {name: stream(seed, prefix + name, block) for name in STREAMS}
    tokens = tokens_of_law(streams["tokens"], others, count * length).reshape(count, length)
    positions = uniform_integers(streams["positions"], length, count).astype(np.int64)
    informative = np.arange(count), positions
    if setting.balanced and not prefix.startswith("test"):
        tokens[informative] = balanced_tokens(streams["marked"], setting.vocab, count)
    elif setting.other_zipf is not None:
        tokens[informative] = tokens_of_law(streams["marked"], facts, count)
    labels = permutation[tokens[informative]]
    return Sequences(*map(torch.from_numpy, (tokens, positions, labels)))


def draw(
    setting: Setting,
    seed: int,
    *,
    dtype: torch.dtype = torch.float64,
    device: Device = "cpu",
    embeddings: Embeddings | Mapping[str, Any] | None = None,
) -> Problem:
    r"""Draw facts, embeddings and training sequences.

    Draws are paired. For one seed, a smaller ``samples`` is a prefix of a larger one; a smaller
    ``dim`` uses the first columns of the same unscaled Gaussian tables; a smaller ``width`` uses
    the first rows of ``mlp_weights``; tokens depend on neither ``dim`` nor ``width``.

    Parameters
    ----------
    seed : int
        Non-negative, of any size.
    dtype : torch.float64 or torch.float32
        Drawn in float64 on the host, then rounded.
    device : str or torch.device
    embeddings : Embeddings, mapping or None
        The caller's own tables, any of ``"input"`` and ``"output"``, ``(vocab, dim)``,
        ``"trigger"`` and ``"query"``, ``(dim,)``: arrays or tensors of any floating type. What is
        missing is drawn as without them. Taken as they are: laws have a mean square length of 1,
        which the trigger drawn beside a table has too. Rows must differ.

    Examples
    --------
    >>> problem = draw(Setting(vocab=8, seq_len=4, dim=3, samples=5), seed=0)
    >>> problem.tokens.shape, problem.input_embeddings.shape
    (torch.Size([5, 4]), torch.Size([8, 3]))
    >>> draw(problem.setting, seed=0, embeddings={"input": np.arange(24.0).reshape(8, 3)}).own
    ('input',)
    """
    if not isinstance(setting, Setting):
        raise not_allowed("setting", setting, "a recallbook.Setting")
    seed, dtype, device = check_drawn(seed, dtype, device)
    require_memory(draw_needs(setting), "the draw")
    own = own_tables(embeddings, setting)
    # sorting uniform numbers gives a uniform permutation by a rule that no library version changes
    permutation = np.argsort(stream(seed, "permutation").random(setting.vocab), kind="stable")
    sequences = _sample(setting, setting.samples, permutation, seed)
    embedded = draw_embeddings(setting, seed, own=own)
    weights = None
    if setting.width is not None:
        table = gaussian_table(seed, "mlp_weights", setting.width, setting.dim)
        weights = torch.from_numpy(table / np.sqrt(setting.mlp_input_scale))
    tables: dict[str, Any] = {
        EMBEDDED[side]: torch.from_numpy(np.ascontiguousarray(table))
        for side, table in embedded._asdict().items()
    }
    sides, facts = tuple(side for side in EMBEDDED if side in own), torch.from_numpy(permutation)
    problem = Problem(setting, seed, *sequences, facts, **tables, mlp_weights=weights, own=sides)
    return problem.to(dtype, device)


def check_problem(
    problem: object, dtype: torch.dtype | None = None, device: Device | None = None
) -> Problem:
    """Return ``problem`` in the wanted floating type and on the wanted device."""
    if not isinstance(problem, Problem):
        raise not_allowed("problem", problem, "a recallbook.Problem, as recallbook.draw makes")
    return problem.to(dtype, device)
