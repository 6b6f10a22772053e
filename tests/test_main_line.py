"""The main line of a chapter, which is what stands open, is short: a page is read, not scrolled."""

from functools import cache

import measure
import pytest

DONE = {  # pages whose main line is short, and how far down their first picture may start
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
MOST_WORDS, LONGEST_PARAGRAPH, MOST_SHOWN = 1300, 90, 4
OF_THE_BOOK, APPENDICES, PROOFS = 36_000, 8, 5000  # words of all pages that are read, and of proofs

PAGE = """<article><h2>One two</h2><p>Three <span class="math">x</span> four.</p>
<div class="cell"><pre>code</pre><table></table></div>
<div class="dropdown admonition"><p class="admonition-title">Five</p><p>Six</p><table></table></div>
<details><summary>Seven</summary><figure></figure></details></article>"""


def test_words_are_those_a_reader_sees():
    page = measure.page(PAGE)
    assert (page.open_words, page.folded_words, page.tables, page.figures) == (6, 1, 1, 0)
    assert measure.words(page.paragraphs[0]) == 2


@cache
def read(path):
    return measure.page(path.read_text("utf-8"))


@pytest.mark.slow
def test_the_book_is_short(html):
    """What stands open on all pages but those of the API reference."""
    built = {
        name: html / f"{name}.html" for name in measure.sources() if not measure.looked_up(name)
    }
    words = {name: read(path).open_words for name, path in built.items() if path.exists()}
    assert sum(words.values()) <= OF_THE_BOOK
    assert sum(size for name, size in words.items() if "/proofs" in name) <= PROOFS
    assert sum("/appendix_" in name for name in words) <= APPENDICES


@pytest.mark.slow
@pytest.mark.parametrize("name", DONE)
def test_the_main_line_is_short(html, name):
    page = read(html / f"notebooks/{name}.html")
    assert page.open_words <= MOST_WORDS
    assert measure.words(page.paragraphs[0]) <= LONGEST_PARAGRAPH, page.paragraphs[0]
    assert max(page.tables, page.figures) <= MOST_SHOWN
