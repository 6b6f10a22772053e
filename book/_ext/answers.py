"""Exercises that take an answer: a field in the box of the exercise, checked in the page.

`book/answers.toml` says what is asked and how the answer is read off what the exercise's own
checking cell printed. So no answer is typed: if a result changes, so does what counts as right.
"""

import html
import json
import math
import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from recallbook_studies import answers as rules

FILE = Path(__file__).parents[1] / "answers.toml"


def asked():
    """What the file asks, by label of the exercise."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def checking(cells, label):
    """The first code cell after an exercise."""
    sources = ["".join(cell["source"]) for cell in cells]
    place = next(i for i, source in enumerate(sources) if re.search(rf":label: {label}\b", source))
    return next(cell for cell in cells[place:] if cell["cell_type"] == "code")


def printed(cell):
    """What a cell printed."""
    parts = [out.get("text") or out["data"].get("text/plain", "") for out in cell["outputs"]]
    return "\n".join("".join(part) for part in parts)


def answer(asks, text):
    """The right answer, a number or one of the choices, from what a cell printed."""
    found = [match for match in re.finditer(asks["printed"], text)]
    groups = [group for match in found for group in match.groups() if group is not None]
    p = [float(one) if re.fullmatch(r"-?\d*\.?\d+", one) else one for one in groups]
    if not found:
        raise ExtensionError(f"book/answers.toml: {asks['printed']!r} is not printed: {text!r}")
    value = getattr(rules, asks["answer"])(*p) if "answer" in asks else p[0]
    if "answer" in asks and "choices" in asks:
        value = asks["choices"][value]
    if value not in asks["choices"] if "choices" in asks else not math.isfinite(value):
        raise ExtensionError(f"book/answers.toml: {value!r} is no answer to {asks['ask']!r}")
    return value


def field(label, asks, right):
    """The form of an exercise; hidden until its script runs."""
    name = f"answer-{label}"
    if "choices" in asks:
        options = "".join(f"<option>{html.escape(one)}</option>" for one in asks["choices"])
        entry = f'<select id="{name}"><option value="">choose</option>{options}</select>'
        rule = f'data-right="{html.escape(right)}"'
    else:
        entry = f'<input id="{name}" inputmode="decimal" autocomplete="off" size="7">'
        rule = f'data-right="{right:.6g}" data-within="{asks["within"]:g}"'
    return (
        f'<form class="answer" data-exercise="{label}" {rule} hidden><span class="entry"><label '
        f'for="{name}">{asks["ask"]}</label> {entry} <button>Check</button></span>'
        '<span role="status"></span></form>'
    )


def add_fields(app, doctree):
    if not hasattr(app.env, "answers_asked"):
        app.env.answers_asked = asked()
    for node in doctree.findall(lambda n: isinstance(n, (exercise_node, exercise_enumerable_node))):
        label = node.get("label")
        if asks := app.env.answers_asked.get(label):
            app.env.note_dependency(str(FILE))
            notebook = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
            right = answer(asks, printed(checking(json.loads(notebook)["cells"], label)))
            node += nodes.raw("", field(label, asks, right), format="html")


def setup(app):
    app.connect("doctree-read", add_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
