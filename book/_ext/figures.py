"""On a phone no letter of a figure is below nine pixels: a figure that would have smaller ones is
drawn wider than the screen, and scrolls in its frame (recallbook.css). And no figure is fetched
before a reader comes near it; its room is kept."""

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
def attributes(path):
    """Of an image: how wide it must be, and how large it is."""
    drawing = path.read_text(encoding="utf-8")
    sizes, room = text_sizes(drawing), ""
    if size := re.search(r'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"', drawing):
        width, height = (round(float(points) * 4 / 3) for points in size.groups())
        room = f'loading="lazy" width="{width}" height="{height}" '
    return room + (f'style="--least: {round(LEAST / min(sizes))}px" ' if sizes else "")


def widen(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):

        def wide(image, page=path):
            drawing = page.parent / image[1]
            known = "_images" in drawing.parts and attributes(drawing.resolve())
            return image[0] + (known or "")

        text = path.read_text(encoding="utf-8")
        if (widened := IMAGE.sub(wide, text)) != text:
            path.write_text(widened, encoding="utf-8")


def setup(app):
    app.connect("build-finished", widen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
