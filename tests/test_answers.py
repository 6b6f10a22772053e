"""Answers to exercises: each in the ways that people write it, in the notebook and in the page."""

import re
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch
from conftest import CHROMIUM, ROOT

from recallbook_studies.answers import TABLE, check, judged

# at an exercise, how the reply begins to what is typed, between bars
TYPED = """
ex-task-one-pass Right: 1-1/e|1 - exp(-1)|0,632|.632.|63.2 percent|≈ 63 %|2^(-2/3)
ex-task-one-pass Not so: 0.5|3/8|0,7|1e3|-0.63|2**3|1e+300
ex-task-one-pass This cannot: |half|1/0|63; 99|[1, 99, 99, 99]|0 632|5//8|2(3)|e(1)|1e999|9**9**9**9|((((|1.2.3|log(-1)
ex-task-coverage Right: 588; 1,513|588, 1513|588,1513|(588, 1,513)|588 and 1513|[588, 1513]
ex-task-coverage Not so: 588; 1613; |588, 99|1600|0.588
ex-task-coverage This cannot: 588; many|588; 1; 513|588,1,513|1 513|2 thousand|700,1613|1,613|588; 1,613
ex-lock-half Right: 1/16|1/16, 1, 1/8, 1/4, 8.6|16,1,8,4,8.6
ex-steps-length-one Right: 0, 1|0,1
ex-interfere-one-label Right: d|LIKE D
ex-interfere-one-label This cannot: like||3
ex-unequal-own Right: 8.8; no|8,8; No.|no
ex-unequal-own Not so: 9.8; no|yes"""
JUDGED = "cases => cases.map(([asks, said, warm]) => judged(asks, said, warm))"


def ways(right):
    """One value as people write it."""
    if isinstance(right, str):
        return [right, right.upper(), f" {right}. "]
    short, fraction = f"{right:.6g}", str(Fraction(right).limit_denominator(10**5))
    return [
        *(short, fraction, f"{right:.5e}", f"{100 * right:.8g} %", f"about {short} bits"),
        *(f"{right:,}", short.replace(".", ","), f"x = {short}", f"({short})/1"),
    ]


def answered():
    """Exercises, texts, and how the reply to each must begin."""
    for label, reply, every in re.findall(r"(?m)^(ex-\S+) (.*?): (.*)$", TYPED):
        yield from ((label, said, reply) for said in every.split("|"))
    for label, asks in TABLE.items():
        firsts = [one if isinstance(one, str) else np.ravel(one)[0] for one in asks["right"]]
        for written in zip(*map(ways, firsts), strict=False):
            yield label, "; ".join(written), "Right"
        for right, form in zip(firsts, asks["ask"].values(), strict=True):
            yield from ((label, said, "Right") for said in ways(right))
            others = [x for x in form.split(" or ") if x != right]
            wrong = others if isinstance(right, str) else [f"{1.7 * right + 0.3}"]
            many = len(firsts) > 1  # of which another may be what is wrong here
            yield from ((label, said, "" if many else "Not so") for said in wrong)
        yield (
            label,
            "; ".join(["-1"] * len(firsts)),
            "" if isinstance(firsts[-1], str) else "Not so",
        )


CASES = [*answered()]


def test_texts_are_read_as_what_they_mean():
    assert {label for label, _, reply in CASES if reply == "Right"} == {*TABLE}
    read = [(*case, judged(TABLE[case[0]], case[1])) for case in CASES]
    assert [case for case in read if not case[3].startswith(case[2])] == []


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_says_the_same(browser):
    page = browser.new_page()
    page.add_script_tag(path=ROOT / "book" / "_static" / "answers.js")
    given = []
    for label, said, _ in CASES:
        parts = zip(TABLE[label]["ask"].items(), TABLE[label]["right"], strict=True)
        given.append([[[*part, right] for part, right in parts], said, "warm" in TABLE[label]])
    for case, reply in zip(CASES, page.evaluate(JUDGED, given), strict=True):
        assert reply == judged(TABLE[case[0]], case[1]), case


@pytest.mark.parametrize(
    "made",
    [tuple, np.array, torch.tensor, sp.Matrix, lambda x: [*map(sp.Rational, x)]],
)
def test_lists_arrays_tensors_and_expressions(made):
    for label, asks in TABLE.items():
        firsts = [one if isinstance(one, str) else float(np.ravel(one)[0]) for one in asks["right"]]
        if not any(isinstance(one, str) for one in firsts):
            assert judged(asks, made(firsts)).startswith("Right"), label
            assert judged(asks, made([-3.0] * len(firsts))).startswith("Not so"), label


def test_what_is_no_answer_is_not_wrong():
    ragged, loop = [[1], [2, 3]], []
    loop.append(loop)
    for answer in (
        *([], {}, {588, 1513}, ragged, loop, object(), 1j, 10**5000, np.arange(10**6)),
        *(torch.zeros(2, device="meta"), sp.Symbol("x"), float("nan"), b"588", "9" * 10**6),
    ):
        assert judged(TABLE["ex-task-coverage"], answer).startswith("This cannot"), type(answer)
    for answer, reply in (
        (False, "Right"),
        (np.array(["no"]), "Right"),
        (torch.tensor(True), "Not"),
    ):
        assert judged(TABLE["ex-interfere-half"], answer).startswith(reply), answer
    assert judged(TABLE["ex-task-one-pass"], 1 - sp.exp(-1)).startswith("Right")
    for label, hint in (("ex-task-onepass", "nearest is 'ex-task-one-pass'$"), ([], "")):
        with pytest.raises(ValueError, match=f"^label=.*{hint}"):
            check(label, 3)
