"""One draw of everything in the closed-form proof, and how far each of its inequalities is used up.

A ratio is what the draw has over what the proof allows: at most 1 where an upper bound holds. Lower
bounds are pairs of what is proved and what is there."""

from functools import cached_property

import numpy as np

from recallbook_theory.bounds import closed_form as cf
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, tau

norm = np.linalg.norm
# keys' and values' tables of each product
PARTS = {
    "facts and facts": ("facts", "facts"),
    "facts and mean": ("facts", "mean"),
    "spread and facts": ("spread", "facts"),
    "mean bias": ("spread", "mean"),
    "facts and values": ("facts", "noise"),
    "spread and values": ("spread", "noise"),
    "frequency noise": ("spread", "noise"),
    "keys and facts": ("noise", "facts"),
    "keys and mean": ("noise", "mean"),
    "gradient noise": ("noise", "noise"),
}


class Steps:
    """Symbols as in the page of proofs; arrays end with the pair of tokens, where there is one."""

    def __init__(self, sizes, log, seed, pairs=12):
        self.V, self.L, self.d, self.N, self.tau = sizes
        rng = np.random.default_rng(seed)
        *z, self.t = rng.normal(size=(self.V + 1, self.d)) / self.d**0.5
        self.z = z = np.array(z)
        self.mean = z.mean(axis=0)
        self.beta = z - self.mean
        self.tokens = rng.integers(self.V, size=(self.N, self.L))
        self.labels = self.tokens[:, 0]  # the place does not matter: tokens are exchangeable
        self.pairs = np.array([rng.choice(self.V, size=2, replace=False) for _ in range(pairs)])
        self.g = (
            self.t + self.beta[self.pairs[:, 0]] - self.beta[self.pairs[:, 1]]
        ).T  # (d, pairs)
        self.b = self.beta + self.tau * self.t
        self.f = np.bincount(self.labels, minlength=self.V) / self.N
        self.spread_g = self.beta.T @ (self.beta @ self.g) / self.V  # Gamma g
        self.l1, self.l2 = (self.L - 1) / self.L**2, (self.L - 1) ** 2 / self.L**2
        sizes = {V: self.V, L: self.L, d: self.d, N: self.N, tau: self.tau, cf.Lambda: log}
        self.allowed = cf.constants(sizes)

    def bound(self, expression):
        return float(numeric(expression)(self.allowed))

    def centred(self, table):
        return table - table.mean(axis=0)

    @cached_property
    def alpha(self):
        """Keys a_k.g, (V, pairs)."""
        return (self.beta + self.t) @ self.g

    @cached_property
    def sequences(self):
        """X and Y of every sequence, by brute force: (N, d, pairs) and (N, d)."""
        values, keys = self.z[self.tokens], self.z[self.tokens]
        values[:, 0] += self.tau * self.t
        keys[:, 0] += self.t
        covariance = (
            np.einsum("nld,nlg->ndg", values - values.mean(axis=1, keepdims=True), keys @ self.g)
            / self.L
        )
        own = self.l1 * self.b[self.labels][:, :, None] * self.alpha[self.labels][:, None, :]
        x = covariance - own - self.l2 * self.spread_g
        y = values.mean(axis=1) - self.b[self.labels] / self.L - self.mean
        return x, y

    def by_label(self, rows):
        table = np.zeros((self.V, *rows.shape[1:]))
        np.add.at(table, self.labels, rows)
        return table / self.N

    @cached_property
    def parts(self):
        """Keys' tables (V, d, pairs) and values' tables (V, d): facts, spread or mean, and noise,
        all centred."""
        x, y = self.sequences
        f = self.f[:, None]
        keys = {
            "facts": self.l1 * f[:, :, None] * self.alpha[:, None, :] * self.b[:, :, None],
            "spread": self.l2 * f[:, :, None] * (self.spread_g)[None],
            "noise": self.by_label(x),
        }
        values = {"facts": f * self.b / self.L, "mean": f * self.mean, "noise": self.by_label(y)}
        return tuple(
            {name: self.centred(table) for name, table in of.items()} for of in (keys, values)
        )

    def trace(self, key, value):
        return self.allowed[cf.K] * np.einsum("vdg,vd->g", self.parts[0][key], self.parts[1][value])

    def frobenius(self, key, value):
        """Of C S m^T C."""
        keys, values = self.parts[0][key], self.parts[1][value]
        return self.allowed[cf.K] * norm(np.tensordot(values, keys, axes=(1, 1)), axis=(0, 1))

    @cached_property
    def third(self):
        """h.g: of the third moment of the embeddings, (pairs,)."""
        return self.g.T @ (self.beta.T @ (self.beta**2).sum(axis=1)) / self.V

    def embeddings(self):
        a, all_vectors = self.allowed, np.vstack([self.beta, self.t])
        gram = all_vectors @ all_vectors.T
        squares, inner = np.diag(gram), gram - np.diag(np.diag(gram))
        spread = self.beta.T @ self.beta / self.V
        along = np.einsum("dg,dg->g", self.g, self.spread_g)
        return {
            "length": squares.max() / a[cf.ell_plus] ** 2,
            "all lengths": np.trace(spread) / a[cf.ell_0] ** 2,
            "overlap": abs(inner).max() / a[cf.o],
            "spread": norm(spread, 2) / a[cf.G],
            "square of the spread": norm(spread) ** 2 / (a[cf.varpi] / self.d),
            "spread along g": along.max() / a[cf.J],
            "spread of g": norm(self.spread_g, axis=0).max() / a[cf.Gamma_plus],
            "spread along the mean": abs(self.mean @ self.spread_g).max()
            / (a[cf.Gamma_plus] * a[cf.o_bar]),
            "g": norm(self.g, axis=0).max() / a[cf.gamma],
            "third moment": abs(self.third).max() / a[cf.h_plus],
            "key of the trigger": (self.t @ self.g).max() / a[cf.alpha_t],
            "other keys": abs(self.beta @ self.g).max() / a[cf.alpha_1],
            "largest key": abs(self.alpha).max() / a[cf.alpha_plus],
            "values": norm(self.b, axis=1).max() / a[cf.b_plus],
        }

    def counts(self):
        a, weighted = self.allowed, self.f[:, None] * self.alpha
        return {
            "frequent": self.f.max() * self.V / a[cf.f_plus],
            "uneven": norm(self.f - 1 / self.V) * self.N**0.5 / a[cf.phi],
            "all counts": self.V**2 * self.f @ self.f / a[cf.m],
            "counts and keys": norm(weighted, axis=0).max() * self.V**0.5 / a[cf.a_plus],
        }

    def one_sequence(self):
        a, (x, y) = self.allowed, self.sequences
        others = self.beta[self.tokens[:, 1:]]
        keys = others @ self.g
        both = np.einsum("nld,nlg->ndg", others, keys) - (self.L - 1) * self.spread_g
        lengths = (self.beta**2).sum() / self.V
        own = (self.alpha * lengths + self.b @ self.spread_g)[self.labels]
        mean = (self.L - 1) ** 2 / self.L**3 * self.third - (self.L - 1) / self.L**3 * own
        product = np.einsum("ndg,nd->ng", x, y) - mean
        return {
            "sum of values": norm(others.sum(axis=1), axis=1).max() / a[cf.s_beta],
            "sum of keys": abs(keys.sum(axis=1)).max() / a[cf.s_alpha],
            "sum of both": norm(both, axis=1).max() / a[cf.s_alpha_beta],
            "X": norm(x, axis=1).max() / a[cf.B_X],
            "Y": norm(y, axis=1).max() / a[cf.B_Y],
            "X in the mean": np.sqrt((x**2).sum(axis=1).mean(axis=0)).max() / a[cf.sigma_X],
            "X along Y": np.sqrt((product**2).mean(axis=0)).max() / a[cf.sigma_XY],
        }

    def fluctuations(self):
        keys, values = (of["noise"] for of in self.parts)
        return {
            "half of the sequences": self.half() / self.allowed[cf.P],
            "keys' noise": norm(keys, axis=(0, 1)).max() / self.allowed[cf.S_F],
            "values' noise": norm(values, 2) / self.allowed[cf.D_op],
        }

    def half(self):
        """Frobenius norm of the table of X over every second sequence, times N."""
        x, rows = self.sequences[0].copy(), np.arange(self.N)
        x[rows % 2 == 1] = 0
        return self.N * norm(self.centred(self.by_label(x)), axis=(0, 1)).max()

    def losses(self):
        """Each loss alone: what it takes from the trace over what the proof allows."""
        bound = {name: self.bound(loss) for name, loss in cf.losses().items()}
        f, alpha, beta = self.f[:, None], self.alpha, self.beta
        weighted = np.einsum(
            "vg,vd->dg", f * alpha, beta
        )  # in units of K: the facts' part is V times sums over facts
        means = weighted.T @ (f * beta).sum(axis=0)
        trigger, signal = self.V * self.facts - means, self.signal
        x, y = self.sequences
        itself = self.allowed[cf.K] / self.N**2 * (1 - 1 / self.V) * np.einsum("ndg,nd->g", x, y)
        both = self.trace("noise", "noise")
        found = {
            "uneven facts": abs(self.V * self.facts - signal),
            "centred facts": abs(means),
            **{name: abs(self.trace(*PARTS[name])) for name in PARTS.keys() & bound.keys()},
            "a sequence with itself": abs(itself),
            "keys and values": abs(both - itself),
        }
        ratios = {name: value.max() / bound[name] for name, value in found.items()}
        if self.tau:
            ratios["trigger and facts"] = (
                -(self.trace("facts", "facts") - trigger).min() / bound["trigger and facts"]
            )
        return ratios

    @cached_property
    def facts(self):
        """What facts alone add to the trace, over l1 / L."""
        return (self.f**2 * (self.beta**2).sum(axis=1)) @ self.alpha

    @cached_property
    def signal(self):
        """What they add through the overlap of trigger and g."""
        return self.V * (self.f**2 @ (self.beta**2).sum(axis=1)) * (self.t @ self.g)

    def norms(self):
        return {
            f"norm: {name}": self.frobenius(*PARTS[name]).max() / self.bound(of)
            for name, of in cf.norms().items()
        }

    @cached_property
    def questions(self):
        return self.z + self.tau * self.t

    def weights(self):
        """V times what perfect attention stores, less what all labels share: a column a question."""
        h = self.questions
        uneven = self.tau * np.outer(self.V * self.f - 1, h @ self.t)
        return self.V * self.f[:, None] * (self.z @ h.T) + uneven

    def recall(self):
        a, wrong, h = self.allowed, self.weights(), self.questions
        np.fill_diagonal(wrong, 0)
        known = {cf.h_2: (h**2).sum(axis=1), cf.c_plus: h @ self.t}  # of each question
        allowed = numeric(cf.definitions()[cf.R])({**a, **known})
        return {
            "trigger and question": max(h @ self.t) / a[cf.c_plus],
            "wrong weights": ((wrong**2).sum(axis=0) / allowed).max(),
        }

    def lower(self):
        """What is proved, and what is there."""
        a = self.allowed
        return {
            "shortest": ((1 - 1 / self.V) * a[cf.ell_minus] ** 2, (self.beta**2).sum(axis=1).min()),
            "key of the trigger": (a[cf.alpha_minus], (self.t @ self.g).min()),
            "rarest": (a[cf.f_minus], self.f.min() * self.V),
            "all counts": (a[cf.m_minus], self.V**2 * self.f @ self.f),
            "signal": (self.bound(cf.signal), self.signal.min()),
            "right overlap": (a[cf.p_minus], (self.z * self.questions).sum(axis=1).min()),
            "right weight": (a[cf.q_minus], np.diag(self.weights()).min()),
        }

    def upper(self):
        first = self.embeddings() | self.counts() | self.one_sequence() | self.fluctuations()
        return first | self.losses() | self.norms() | self.recall()
