"""The stepper of chapter 3: a directive whose text a reader without scripts sees in its place."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SCRIPTS = ("draws", "steps", "page")


class Stepper(SphinxDirective):
    has_content = True

    def run(self):
        text = nodes.container(classes=["stepper-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        root = "../" * self.env.docname.count("/") + "_static/stepper/"
        page = f'<link rel="stylesheet" href="{root}stepper.css">\n'
        page += '<div class="stepper" id="stepper" role="group" aria-label="Three gradient steps" hidden></div>'
        page += "".join(f'\n<script defer src="{root}{name}.js"></script>' for name in SCRIPTS)
        return [nodes.raw("", page, format="html"), text]


def setup(app):
    app.add_directive("stepper", Stepper)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
