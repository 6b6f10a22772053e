"""What helps a reader in the page: the stepper of chapter 3, fields for answers, cards on links."""

import re
from dataclasses import astuple, replace

import pytest
import stepper_draws
import test_browser as browsing
import torch
from rounding import close
from sampling import by_night

import recallbook as rb
from recallbook.model.attention import attend, attention_scores, score
from recallbook.model.ties import tied
from recallbook_studies.answers import TABLE

pytestmark = browsing.pytestmark
CASES = [[0, 8, False], [0, 512, True], [4, 64, True]]
COMPUTED = """cases => cases.map(([seed, samples, trigger]) => {
  const p = STEPS.problem(STEPPER_DRAWS, seed, trigger), steps = STEPS.three(p, samples);
  const attention = p.fresh.map(sequence => STEPS.attention(p, sequence, steps.w));
  const logits = p.fresh.map((sequence, i) => STEPS.logits(p, steps.value2, STEPS.read(p, sequence, attention[i])));
  return {value1: steps.value1, key_query: steps.keyQuery, value2: steps.value2, attention, logits,
          outcome: Object.values(STEPS.evaluate(p, steps))};
})"""


def truth(seed, samples, trigger):
    """The same of the package."""
    setting = replace(stepper_draws.LARGEST, samples=samples, trigger_in_values=trigger)
    problem = rb.draw(setting, seed)
    steps, fresh = rb.three_steps(problem), problem.fresh(stepper_draws.FRESH)
    scores = attention_scores(problem, steps.key_query @ problem.query)
    best = tied(score(fresh, scores), scores.slack).double()
    attention = best / best.sum(dim=1, keepdim=True)
    logits = attend(problem, fresh, attention) @ steps.value2.T @ problem.output_embeddings.T
    outcome = astuple(rb.evaluate(problem, steps, stepper_draws.FRESH))
    return {
        **vars(steps),
        "attention": attention,
        "logits": logits,
        "outcome": torch.tensor(outcome, dtype=torch.float64),
    }


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context(**browsing.LOOKS["phone"], has_touch=True) as context:
        yield browsing.Tab(context)


def chapter(tab, html, name):
    return tab.open((html.resolve() / f"notebooks/{name}.html").as_uri())


def test_the_stepper_computes_what_the_package_does(tab, html):
    made, stored = stepper_draws.script(), stepper_draws.FILE.read_text("utf-8")
    assert close(made, stored), "run stepper_draws.py"
    page = chapter(tab, html, "03_three_gradient_steps")
    for case, found in zip(CASES, page.evaluate(COMPUTED, CASES), strict=True):
        right = truth(*case)
        for name, numbers in found.items():
            error = (torch.tensor(numbers, dtype=torch.float64) - right[name]).abs().max()
            assert error <= 1e-9 * right[name].abs().max(), (case, name)


def test_the_stepper_steps(tab, html):
    page = chapter(tab, html, "03_three_gradient_steps")
    stepper, later = page.locator("#stepper"), page.locator("#stepper .later")
    assert later.count() == 3 and not page.locator(".stepper-text").is_visible()
    for left in (2, 1, 0):
        stepper.locator("[name=next]").press("Enter")
        assert later.count() == left
    stepper.locator("[type=range]").press("ArrowLeft")
    assert stepper.locator(".size").inner_text() == "192"
    assert "Store again" in stepper.get_by_role("status").inner_text()


def test_each_chapter_has_exercises_that_take_an_answer(html):
    pages = [path.read_text("utf-8") for path in (html / "notebooks").glob("[01]*.html")]
    found = [re.findall('data-exercise="([^"]*)"', text) for text in pages]
    assert len(found) == 12 and min(map(len, found)) >= 2, found
    assert {one for some in found for one in some} == set(TABLE)


def test_a_right_answer_opens_the_solution(tab, html):
    page = chapter(tab, html, "01_the_task")
    form = page.locator("form.answer").first
    solution = page.get_by_text("more than a third of the facts")
    for said, reply in (("half", "This"), ("0.5", "Not so"), ("63 %", "Right")):
        assert not solution.is_visible()
        form.locator("input").fill(said)
        form.locator("input").press("Enter")
        assert form.get_by_role("status").inner_text().startswith(reply)
    assert solution.is_visible()


UNCARDED = """() => [...document.querySelectorAll('.bd-article a.internal[href*="#"]')]
  .filter(a => /#(?:equation|fig|term|prop)-|bibliography.html#/.test(a.href))
  .map(a => a.href.replace(/.*[/]html[/]/, '')).filter(key => !CARDS[key])"""


def test_links_show_where_they_lead(tab, html):
    page = chapter(tab, html, "05_when_attention_locks_on")
    link, card = page.locator('.bd-article a.internal[href="#equation-eq-lock-on"]'), "#hover-card"
    link.first.tap()
    page.locator(f"{card} mjx-container").wait_for()
    assert page.evaluate(UNCARDED) == [] and "#" not in page.url
    page.keyboard.press("Escape")
    assert not page.locator(card).is_visible()
    link.first.tap()
    page.locator(f"{card} mjx-container").wait_for()
    link.first.tap()
    assert page.url.endswith("#equation-eq-lock-on")


FOLDED = "id => document.getElementById(id).closest('.toggle-hidden, details:not([open])') !== null"


@pytest.mark.parametrize(
    "place",
    by_night(["equation-eq-bound-information", "prop-bound-moments", "thm-bound-fano"], day=1),
)
def test_a_link_to_what_is_folded_opens_it(tab, html, place):
    page = chapter(tab, html, "08_lower_bounds")
    assert page.evaluate(FOLDED, place)
    page.evaluate("id => { location.hash = id; }", place)
    page.wait_for_function(f"id => !({FOLDED})(id)", arg=place)


FOLDS = """name => { if (name) dispatchEvent(new Event(name));
  return [...document.querySelectorAll('.bd-article :is(details:not([open]), .toggle-hidden)')]
    .map(one => one.matches('.solution') ? 'Solution' : one.textContent.trim().slice(0, 10)); }"""


def test_paper_shows_what_is_folded_but_answers(tab, html):
    page = chapter(tab, html, "08_lower_bounds")
    screen, paper, after = (
        page.evaluate(FOLDS, name) for name in ("", "beforeprint", "afterprint")
    )
    assert {*paper} == {"Solution", "Check your"} < {*screen} and after == screen


MARK_LETTER = r"""() => { document.querySelectorAll('.toggle-hidden .toggle-button').forEach(one => one.click());
  [...MathJax.startup.document.math].find(one =>
  one.math.trim() === '\\kappa' && !one.display && one.typesetRoot.checkVisibility()).typesetRoot.id = 'letter'; }"""


def test_a_letter_of_a_chapter_shows_what_it_means_there(tab, html):
    for name in ("05_when_attention_locks_on", "appendix_05_every_term"):
        page = chapter(tab, html, name)
        page.evaluate(MARK_LETTER)
        page.locator("#letter").tap()
        page.get_by_role("tooltip").get_by_text("mean square overlap of tokens").wait_for()
