"""Figures that move: `:::{moves} name` after a figure sets the one that `moves/figures.js` binds to
it in its place. It says nothing itself: readers without scripts, on paper and in plain notebooks
have the figure."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SCRIPTS = ("explorer/svg", "explorer/formulas", "explorer/model")
SCRIPTS += ("moves/data", "moves/figures", "moves/moves")


class Moves(SphinxDirective):
    required_arguments = 1

    def run(self):
        root = "../" * self.env.docname.count("/") + "_static/"
        page = f'<link rel="stylesheet" href="{root}moves/moves.css">\n'
        page += f'<div data-moves="{self.arguments[0]}" hidden></div>'
        page += "".join(f'\n<script defer src="{root}{name}.js"></script>' for name in SCRIPTS)
        return [nodes.raw("", page, format="html")]


def setup(app):
    app.add_directive("moves", Moves)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
