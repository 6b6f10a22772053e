"""On a phone no letter of a figure is below nine pixels: a figure that would have smaller ones is
drawn wider than the screen, and scrolls in its frame (recallbook.css)."""

import re
from functools import cache
from pathlib import Path

LEAST = 9.05  # pixels
IMAGE = re.compile(r'<img (?=[^>]*src="([^"]*\.svg)")')
# Matplotlib draws letters as shapes of 100 units; what stands inside such a group is an index.
LETTERS = (
    r'<g (?:style="[^"]*" )?transform="translate\([^)]*\)(?: rotate\([^)]*\))? scale\(([\d.]+) -'
)


def text_sizes(drawing):
    """The sizes of the letters of one of our figures, as shares of its width."""
    width = re.search(r'<svg[^>]* width="([\d.]+)pt"', drawing)
    return {100 * float(scale) / float(width[1]) for scale in re.findall(LETTERS, drawing)}


@cache
def least_width(path):
    """The pixels that the figure must be wide, or 0."""
    sizes = text_sizes(path.read_text(encoding="utf-8"))
    return round(LEAST / min(sizes)) if sizes else 0


def widen(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):

        def wide(image, page=path):
            drawing = page.parent / image[1]
            known = "_images" in drawing.parts and least_width(drawing.resolve())
            return image[0] + f'style="--least: {known}px" ' * bool(known)

        text = path.read_text(encoding="utf-8")
        if (widened := IMAGE.sub(wide, text)) != text:
            path.write_text(widened, encoding="utf-8")


def setup(app):
    app.connect("build-finished", widen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
