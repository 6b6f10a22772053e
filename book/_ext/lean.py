"""What the theme sends with every page and no page needs: a megabyte and a half of icons as a
script, which the web font draws too; the rules and shapes of two thousand other icons;
the index of the search, outside the page that searches; cards and tabs, where there are none."""

import re
from pathlib import Path

from fontTools import subset

SCRIPT = r'\s*<script[^>]* src="[^"]*{}[^"]*"></script>'
ICONS = SCRIPT.format(r"scripts/fontawesome\.js")
SEARCH = SCRIPT.format(r"(?:searchtools|language_data|searchindex)\.js")
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
CARDS = r"\s*<(?:link|script)[^>]*/(?:sphinx-design\.min\.css|design-tabs\.js)[^>]*>(?:</script>)?"
USED = r"\bfa-[a-z-]+"


def trim(app, exception):
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static, used = out / "_static", set()
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        lean = re.sub(ICONS, "", text)
        if path.name != "search.html":
            lean = re.sub(SEARCH, "", lean)
        if 'class="sd-' not in lean:
            lean = re.sub(CARDS, "", lean)
        if lean != text:
            path.write_text(lean, encoding="utf-8")
        used.update(re.findall(USED, lean))
    for path in static.glob("scripts/fontawesome.js*"):
        path.unlink()
    for path in static.glob("scripts/*.js"):
        used.update(re.findall(USED, path.read_text(encoding="utf-8")))
    draw(static, used)


def draw(static, used):
    """Keep the rules of the icons that are used, and of their font these shapes.

    A theme that has that font in a packed form alone, as newer ones do, keeps it whole."""
    fonts = static / "vendor" / "fontawesome" / "webfonts"
    file = fonts / "fa-solid-900.ttf"
    if not file.is_file():
        return
    path, shapes = static / "styles" / "pydata-sphinx-theme.css", []

    def kept(rule):
        names = {*re.findall(USED, rule[1])} & used
        shapes.extend([int(rule[2], 16)] * bool(names))
        return rule[0] if names else ""

    text = RULE.sub(kept, path.read_text(encoding="utf-8"))
    text = re.sub(r'url\([^)]*\.woff2\) format\("woff2"\),', "", text)
    path.write_text(text, encoding="utf-8")
    for font in fonts.glob("*.woff2"):
        font.unlink()
    options = subset.Options()
    font = subset.load_font(file, options)
    chooser = subset.Subsetter(options)
    chooser.populate(unicodes=shapes)
    chooser.subset(font)
    subset.save_font(font, file, options)


def setup(app):
    app.connect("build-finished", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
