"""Matrix forms of the gradients: equal to explicit differentiation, exactly; and the loss that is
differentiated is the model's."""

from dataclasses import replace

import pytest
import sympy as sp
import torch
from randomised import at_random_weights
from sampling import by_night
from sized import sized

import recallbook as rb
from recallbook_studies.ch04 import derived_gradients as gr

pytestmark = pytest.mark.essential

ZERO = sp.zeros(2, 2)
BATCHES = [
    ("repeated token", [(0, 0)], [1], [1], 2),
    ("two tokens", [(0, 1)], [0], [1], 2),
    ("two sequences", [(0, 1), (1, 1)], [1, 0], [0, 0], 2),
    ("three labels", [(2, 0), (1, 2)], [0, 1], [1, 1], 3),
]


def model_of(batch, flag):
    _, tokens, positions, labels, vocab = batch
    tables = [gr.letters("z", vocab, 2), gr.letters("u", vocab, 2)]
    vectors = [gr.letters("t", 2, 1), gr.letters("zeta", 2, 1)]
    return gr.TinyModel(tokens, positions, labels, *tables, *vectors, flag)


def rational(model):
    """The same batch with small rational embeddings in place of letters."""
    parts = {name: getattr(model, name) for name in ("inputs", "outputs", "trigger", "query")}
    letters = sorted(set().union(*(part.free_symbols for part in parts.values())), key=str)
    numbers = {letter: sp.Rational((7 * i) % 11 - 5, 3 + i % 4) for i, letter in enumerate(letters)}
    return replace(model, **{name: part.subs(numbers) for name, part in parts.items()})


def weights(dim=2):
    return gr.letters("v", dim, dim), gr.letters("k", dim, dim)


@pytest.fixture(
    params=by_night([(b, i % 2 == f) for f in (0, 1) for i, b in enumerate(BATCHES)], len(BATCHES)),
    ids=lambda p: f"{p[0][0]}, {p[1]}",
)
def model(request):
    return model_of(*request.param)


def test_at_zero_every_entry_for_all_embeddings(model):
    value, key_query = weights()
    expression = gr.loss(model, value, key_query)
    at_zero = dict.fromkeys([*value, *key_query], 0)
    slope = expression.diff(value).subs(at_zero)
    assert gr.vanishes(slope + gr.value_descent(model, ZERO, ZERO))
    assert any(slope)


@pytest.mark.slow
def test_after_step_one_every_entry_for_all_value_matrices(model):
    model = rational(model)
    value, key_query = weights()
    slope = gr.loss(model, value, key_query).diff(key_query).subs(dict.fromkeys(key_query, 0))
    assert gr.vanishes(slope + gr.key_query_descent(model, value, ZERO))


@pytest.mark.nightly
@pytest.mark.parametrize(("batch", "flag"), [(BATCHES[1], True), (BATCHES[2], False)], ids=str)
def test_at_all_weights(batch, flag):
    model = rational(model_of(batch, flag))
    value, key_query = weights()
    expression = gr.loss(model, value, key_query)
    assert gr.vanishes(expression.diff(value) + gr.value_descent(model, value, key_query))
    assert gr.vanishes(expression.diff(key_query) + gr.key_query_descent(model, value, key_query))


@pytest.mark.parametrize("sizes", [(2, 3, 2, True, 0), (3, 2, 2, False, 3)], ids=str)
def test_loss_is_the_loss_of_the_model(sizes):
    """Of a drawn problem, at random weights."""
    vocab, length, dim, flag, seed = sizes
    problem = rb.draw(sized(vocab, length, dim, 3, trigger_in_values=flag), seed=seed)
    tables = problem.input_embeddings, problem.output_embeddings, problem.trigger, problem.query
    batch = [part.tolist() for part in problem.sequences]
    tiny = gr.TinyModel(*batch, *(sp.Matrix(table.tolist()) for table in tables), flag)
    model = at_random_weights(rb.RecallTransformer(problem), 1)
    logits = model(problem.tokens, problem.positions)
    expected = torch.nn.functional.cross_entropy(logits, problem.labels)
    value, key_query = (sp.Matrix(x.tolist()) for x in (model.value, model.key_query))
    assert float(gr.loss(tiny, value, key_query)) == pytest.approx(expected.item(), abs=1e-12)
