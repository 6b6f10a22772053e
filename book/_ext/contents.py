"""Appendices stand under their chapters, lettered. "Next" follows the first hour (landing page,
first chapter, laws), and passes over appendices."""

from string import ascii_uppercase


def chapters(env):
    """Numbered pages of the first level, in order."""
    pages = env.toctree_includes.get(env.config.root_doc, [])
    return [page for page in pages if env.toc_secnumbers.get(page, {}).get("")]


def appendices(env):
    """Appendix and its letter: pages under a numbered one, in order."""
    for chapter in chapters(env):
        yield from zip(env.toctree_includes.get(chapter, []), ascii_uppercase, strict=False)


def letter(app, env):
    """Chapter 6's first appendix is 6.A, not one more than chapter 6 has sections."""
    for page, name in appendices(env):
        numbers = env.toc_secnumbers[page]
        for anchor, number in numbers.items():
            numbers[anchor] = (number[0], name, *number[2:])
        for node in (
            *env.tocs[page].findall(lambda n: hasattr(n, "get") and n.get("secnumber")),
            env.titles[page],
        ):
            if number := node.get("secnumber"):
                node["secnumber"] = (number[0], name, *number[2:])
    return []


def neighbours(app, page, template, context, doctree):
    """From a chapter "next" leads to the next one; its appendices are in the sidebar, and how to
    run it. The first hour comes first: landing page, first chapter, laws."""
    root = app.config.root_doc
    begun = [root, *chapters(app.env)[:1]]
    aside = [*begun, "book/run_it"]
    pages = begun + [p for p in app.env.toctree_includes.get(root, []) if p not in aside]
    if page in pages:
        place = pages.index(page)
        for name, other in (("prev", place - 1), ("next", place + 1)):
            if 0 <= other < len(pages):
                context[name] = {
                    "link": app.builder.get_relative_uri(page, pages[other]),
                    "title": app.builder.render_partial(app.env.titles[pages[other]])["title"],
                }


def setup(app):
    app.connect("env-get-updated", letter, priority=900)
    app.connect("html-page-context", neighbours)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
