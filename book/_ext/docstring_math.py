"""Docstrings write mathematics as the notebooks do, `$x$` and `$$x$$`; autodoc reads reStructuredText."""

import re


def to_rst(text):
    """Turn `$x$` into the math role and `$$x$$` into a math directive."""
    pieces = text.split("$$")
    if len(pieces) % 2 == 0:
        raise ValueError(f"a $$ without its partner in: {text}")
    result = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            line = result.rsplit("\n", 1)[-1]
            indent = line[: len(line) - len(line.lstrip())]
            content = " ".join(piece.split())
            result = f"{result.rstrip()}\n\n{indent}.. math:: {content}\n\n{indent}"
        else:
            result += inline(piece.lstrip() if number else piece)
    return result


def inline(text):
    def role(match):
        content, after = " ".join(match[1].split()), match[2]
        # A role must end before a letter: "$k$th" needs an escaped space.
        return f":math:`{content}`" + (f"\\ {after}" if after else "")

    return re.sub(r"\$([^$]+)\$(\w?)", role, text)


def process(app, what, name, obj, options, lines):
    lines[:] = to_rst("\n".join(lines)).split("\n")


def skip_bare_fields(app, what, name, obj, skip, options):
    """A field of a named tuple has a docstring of its own only if it says more than its number."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app):
    # Before napoleon, which has priority 500.
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", skip_bare_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
