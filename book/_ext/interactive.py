"""What moves on a page. `:::{stepper}` holds the text that readers without scripts have in its
place. `:::{moves} name` after a figure sets the one that `moves/figures.js` binds to it in its
place, and says nothing itself: readers without scripts, on paper and in plain notebooks have the
figure."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

MOVES = "explorer/svg explorer/formulas explorer/model moves/data moves/figures moves/moves".split()
STEPPER = "stepper/draws stepper/steps stepper/page".split()


def loading(directive, folder, place, scripts):
    """The place of what moves, its style and its scripts."""
    root = "../" * directive.env.docname.count("/") + "_static/"
    page = f'<link rel="stylesheet" href="{root}{folder}/{folder}.css">\n{place}'
    page += "".join(f'\n<script defer src="{root}{name}.js"></script>' for name in scripts)
    return nodes.raw("", page, format="html")


class Moves(SphinxDirective):
    required_arguments = 1

    def run(self):
        place = f'<div data-moves="{self.arguments[0]}" hidden></div>'
        return [loading(self, "moves", place, MOVES)]


class Stepper(SphinxDirective):
    has_content = True

    def run(self):
        text = nodes.container(classes=["stepper-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        place = '<div class="stepper" id="stepper" role="group" aria-label="Three gradient steps" hidden></div>'
        return [loading(self, "stepper", place, STEPPER), text]


def setup(app):
    app.add_directive("moves", Moves)
    app.add_directive("stepper", Stepper)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
