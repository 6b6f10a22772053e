"""Buttons that say which code they open.

A cell whose code is folded gets a button named after what the code makes; folded cells that make
nothing to be seen go with the next folded cell, those at the top are one set-up.
"""

from docutils import nodes
from myst_nb.sphinx_ import HideInputCells
from sphinx.transforms.post_transforms import SphinxPostTransform

UNNAMED = "Show code cell {type}"  # what MyST-NB writes where a cell's metadata name no button


def is_folded(node):
    return isinstance(node, nodes.container) and node.get("hide_mode") == "input"


def shows_nothing(node):
    return node.children[-1].get("nb_element") == "cell_code_source"


def join(first, second):
    """Put the code of `first` before that of `second`, under one button."""
    code = nodes.container(nb_element="cell_code_source")
    code.extend([*first.children, second.children[0]])
    second.children[0] = code
    code.parent = second
    second["classes"] = [
        *first["classes"],
        *(c for c in second["classes"] if c not in first["classes"]),
    ]
    first.parent.remove(first)


class CodeButtons(SphinxPostTransform):
    default_priority = HideInputCells.default_priority - 1
    formats = ("html",)

    def run(self, **options):
        for cell in [*self.document.findall(is_folded)]:
            after = cell.next_node(siblings=True, descend=False)
            setting_up = "tag_setup" in cell["classes"]
            if shows_nothing(cell) and after is not None and is_folded(after):
                if shows_nothing(after) or not setting_up:
                    join(cell, after)
        for cell in self.document.findall(nodes.container):
            if cell.get("prompt_show") == UNNAMED:
                name = self.name(cell)
                cell["prompt_show"] = cell["prompt_hide"] = name

    def name(self, cell):
        if cell["hide_mode"] == "input+output":
            return "This section's {type}"
        if shows_nothing(cell):
            return "Set-up" if "tag_setup" in cell["classes"] else "Code of what follows"
        numbers = self.env.toc_fignumbers.get(self.env.docname, {}).get("figure", {})
        for figure in cell.findall(nodes.figure):
            for identity in figure["ids"]:
                if identity in numbers:
                    return f"Code of Figure {'.'.join(map(str, numbers[identity]))}"
        tables = sum("<table" in node.astext() for node in cell.findall(nodes.raw))
        formulas = sum(1 for node in cell.findall(nodes.math_block))
        for name, count in (("table", tables), ("formula", formulas)):
            if count:
                return f"Code of the {name}" + "s" * (count > 1)
        return "Code of the numbers"


def setup(app):
    app.add_post_transform(CodeButtons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
