"""Fields of named tuples that say no more than their number stay off the page."""


def skip_bare_fields(app, what, name, obj, skip, options):  # noqa: PLR0917  (Sphinx calls it so)
    return (
        True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None
    )


def setup(app):
    app.connect("autodoc-skip-member", skip_bare_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
