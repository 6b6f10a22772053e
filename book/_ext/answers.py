"""Exercises that take an answer: a field in the box of the exercise, checked in the page.

What is asked, in which form, and what is right are those of the notebook's own `check`: both read
`recallbook_studies/answers.toml`. The pages are for the default setting.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from recallbook_studies import answers

FILE = Path(answers.__file__).with_suffix(".toml")


def field(label):
    """The form of an exercise; hidden until its script runs."""
    name, parts = f"answer-{label}", answers.TABLE[label]["ask"]
    asks = [
        [*part, value]
        for part, value in zip(parts.items(), answers.TABLE[label]["right"], strict=True)
    ]
    said = re.sub(r"\b([VLNdmp])\b", r"<i>\1</i>", html.escape("; ".join(parts)))
    form = next(iter(parts.values()))
    if form.startswith("to "):
        size = min(7 + 4 * len(parts), 20)
        entry = f'<input id="{name}" autocomplete="off" size="{size}">'
    else:
        options = "".join(f"<option>{html.escape(one)}</option>" for one in form.split(" or "))
        entry = f'<select id="{name}"><option value="">choose</option>{options}</select>'
    data = html.escape(json.dumps(asks, ensure_ascii=False))
    warm = " data-warm" * answers.TABLE[label].get("warm", False)
    place = " long" * (len("; ".join(parts)) > 40)  # no room in the title
    return (
        f'<form class="answer{place}" data-exercise="{label}" data-asks="{data}"{warm} hidden><span '
        f'class="entry"><label for="{name}">{said[0].upper()}{said[1:]}</label> {entry} '
        '<button>Check</button></span><span role="status"></span></form>'
    )


def add_fields(app, doctree):
    for node in doctree.findall(lambda n: isinstance(n, (exercise_node, exercise_enumerable_node))):
        if node["label"] in answers.TABLE:
            app.env.note_dependency(str(FILE))
            node += nodes.raw("", field(node["label"]), format="html")


def setup(app):
    app.connect("doctree-read", add_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
