"""One draw of everything in the closed-form proof, and how far each of its inequalities is used up.

A ratio is what the draw has over what the proof allows: at most 1 where an upper bound holds. Lower
bounds are pairs of what is proved and what is there."""

from functools import cached_property

import numpy as np

from recallbook_theory.bounds import closed_form as cf
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, tau

norm = np.linalg.norm
# keys' and values' tables whose products add to a loss
PARTS = {
    "spread and facts": [("spread", "facts")],
    "mean bias": [("facts", "mean"), ("spread", "mean"), ("noise", "mean")],
    "values' noise": [("facts", "noise"), ("spread", "noise")],
    "keys' noise": [("noise", "facts")],
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
        sizes[cf.x] = log  # a union over all facts
        self.allowed = cf.constants(cf.constants(sizes), cf.question)

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

    @property
    def unit(self):
        return self.L * self.V / self.l1

    def trace(self, key, value):
        return self.unit * np.einsum("vdg,vd->g", self.parts[0][key], self.parts[1][value])

    @cached_property
    def third(self):
        """h.g: of the third moment of the embeddings, (pairs,)."""
        return self.g.T @ (self.beta.T @ (self.beta**2).sum(axis=1)) / self.V

    def embeddings(self):
        a, all_vectors = self.allowed, np.vstack([self.beta, self.t])
        gram = all_vectors @ all_vectors.T
        squares, inner = np.diag(gram), gram - np.diag(np.diag(gram))
        along = np.einsum("dg,dg->g", self.g, self.spread_g)
        third = a[cf.Delta] * (np.sqrt(6 * a[cf.G]) * a[cf.eps] + 2 * a[cf.alpha] / self.V)
        return {
            "length": squares.max() / a[cf.ell] ** 2,
            "lengths from 1": abs(squares - 1).max() / a[cf.Delta],
            "overlap": abs(inner).max() / a[cf.o],
            "spread": norm(self.beta, 2) ** 2 / self.V / a[cf.G],
            "spread along g": along.max() / a[cf.J],
            "third moment": abs(self.third).max() / third,
            "key of the trigger": (self.t @ self.g).max() / a[cf.alpha],
            "other keys": abs(self.beta @ self.g).max() / a[cf.alpha],
            "values": norm(self.b, axis=1).max() / a[cf.b],
        }

    def counts(self):
        a, weighted = self.allowed, self.f[:, None] * self.alpha
        return {
            "frequent": self.f.max() * self.V / a[cf.f],
            "uneven": norm(self.f - 1 / self.V) / a[cf.u],
            "counts and keys": norm(weighted, axis=0).max() * self.V**0.5 / a[cf.a],
        }

    def noise(self):
        a, (x, y) = self.allowed, self.sequences
        others = self.beta[self.tokens[:, 1:]]
        keys = others @ self.g
        both = np.einsum("nld,nlg->ndg", others, keys) - (self.L - 1) * self.spread_g
        tables = [of["noise"] for of in self.parts]
        facts = norm(self.parts[0]["facts"] + self.parts[0]["spread"], axis=(0, 1)).max()
        return {
            "sum of keys": abs(keys.sum(axis=1)).max() / a[cf.s_alpha],
            "sum of both": norm(both, axis=1).max() / (2 * a[cf.ell] * a[cf.s_alpha]),
            "X": norm(x, axis=1).max() / a[cf.B],
            "Y": norm(y, axis=1).max() / (a[cf.s_beta] / self.L),
            "X in the mean": np.sqrt((x**2).sum(axis=1).mean(axis=0)).max() / a[cf.sigma],
            "half of the sequences": self.half() / a[cf.P],
            "keys' noise in all": a[cf.K] * norm(tables[0], axis=(0, 1)).max() / a[cf.S],
            "values' noise in all": norm(tables[1], 2) / a[cf.D],
            "keys without noise": self.unit * facts / a[cf.H],
        }

    def half(self):
        """Frobenius norm of the table of X over every second sequence, times N."""
        x, rows = self.sequences[0].copy(), np.arange(self.N)
        x[rows % 2 == 1] = 0
        return self.N * norm(self.centred(self.by_label(x)), axis=(0, 1)).max()

    def losses(self):
        """Each loss alone: what it takes from the trace over what the proof allows."""
        f, alpha, beta = self.f[:, None], self.alpha, self.beta
        # in units of K: the facts' part is V times sums over facts
        means = np.einsum("vg,vd->dg", f * alpha, beta).T @ (f * beta).sum(axis=0)
        facts = self.V * (self.f**2 * (beta**2).sum(axis=1)) @ alpha
        x, y = self.sequences
        itself = self.unit / self.N**2 * (1 - 1 / self.V) * np.einsum("ndg,nd->g", x, y)
        taken = {
            "uneven facts": (1 - 1 / self.V) * (self.t @ self.g) - facts,
            "centred facts": abs(means),
            **{n: abs(sum(self.trace(*pair) for pair in of)) for n, of in PARTS.items()},
            "a sequence with itself": abs(itself),
            "two sequences": abs(self.trace("noise", "noise") - itself),
            "trigger and facts": facts - means - self.trace("facts", "facts"),
        }
        assert taken.keys() == cf.losses().keys()
        allowed = {name: self.bound(loss) for name, loss in cf.losses().items()}
        return {name: max(of) / (allowed[name] + 1e-9) for name, of in taken.items()}

    def norm(self):
        keys, values = (sum(of.values()) for of in self.parts)
        product = self.unit * np.tensordot(values, keys, axes=(1, 1))
        return {"norm": norm(product, axis=(0, 1)).max() / self.bound(cf.norm)}

    def weights(self):
        """V times what perfect attention stores, less what all labels share: a column a question."""
        h = self.z + self.tau * self.t
        uneven = self.tau * np.outer(self.V * self.f - 1, h @ self.t)
        return self.V * self.f[:, None] * (self.z @ h.T) + uneven

    def recall(self):
        a, wrong, h = self.allowed, self.weights(), self.z + self.tau * self.t
        np.fill_diagonal(wrong, 0)
        known = {cf.h_2: (h**2).sum(axis=1), cf.c_plus: h @ self.t}  # of each question
        allowed = numeric(cf.question()[cf.R])({**a, **known})
        return {
            "trigger and question": max(h @ self.t) / a[cf.c_plus],
            "wrong weights": ((wrong**2).sum(axis=0) / allowed).max(),
        }

    def lower(self):
        """What is proved, and what is there."""
        a, h = self.allowed, self.z + self.tau * self.t
        return {
            "key of the trigger": (a[cf.alpha_minus], (self.t @ self.g).min()),
            "rarest": (a[cf.f_minus], self.f.min() * self.V),
            "right overlap": (a[cf.p_minus], (self.z * h).sum(axis=1).min()),
            "right weight": (a[cf.q_minus], np.diag(self.weights()).min()),
        }

    def upper(self):
        first = self.embeddings() | self.counts() | self.noise()
        return first | self.losses() | self.norm() | self.recall()
