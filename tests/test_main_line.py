"""How words are counted, and how far down the first picture of a chapter may start."""

import measure

DONE = {  # how far down the first picture may start, in pixels
    "01_the_task": 1000,
    "02_embeddings_that_interfere": 1500,
    "03_three_gradient_steps": 1500,
    "04_gradients_derived_and_checked": 1500,
    "05_when_attention_locks_on": 1500,
    "06_when_facts_can_be_recalled": 1500,
    "07_the_mlp_as_memory": 1500,
    "08_lower_bounds": 1500,
    "09_does_it_multiply": 1500,
    "10_claims_and_verdicts": 1500,
    "11_when_facts_are_not_equal": 1500,
    "12_what_survives": 1500,
}

PAGE = """<article><h2>One two</h2><p>Three <span class="math">x</span> four.</p>
<div class="cell"><pre>code</pre><table></table></div>
<div class="dropdown admonition"><p class="admonition-title">Five</p><p>Six</p><table></table></div>
<details><summary>Seven</summary><figure></figure></details></article>"""


def test_words_are_those_a_reader_sees():
    page = measure.page(PAGE)
    assert (page.open_words, page.folded_words, page.tables, page.figures) == (6, 1, 1, 0)
    assert measure.words(page.paragraphs[0]) == 2
