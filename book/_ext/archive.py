"""What a reader takes home, beside the pages: the wheel of the package, and one archive with it and
all plain notebooks. Two builds of one tree on one day make the same bytes."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from sphinx.errors import ExtensionError

sys.path.append(str(Path(__file__).parents[1]))  # where the modules of the book lie
import stamp

# midnight of the day of the build, or of SOURCE_DATE_EPOCH
DAY = int(os.environ.get("SOURCE_DATE_EPOCH", time.time())) // 86400 * 86400
README = """\
Learning to recall: each notebook is a page of the book, with its results; {wheel} is the package that they call.
On Linux without a GPU, first: export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu (torch without CUDA, 0.2 GB).
To run them: python3 -m venv .venv && .venv/bin/pip install {wheel} jupyterlab && .venv/bin/jupyter lab
More ways, and how long it takes: the book's page "Run it". Code: MIT. Text and figures: CC BY 4.0.
"""


def begin(app):
    """Let pip make the wheel while the pages are built; from a copy, because setuptools packs what
    an earlier build left behind."""
    app.wheel_folder = tempfile.TemporaryDirectory()
    source = Path(app.wheel_folder.name, "source")
    source.mkdir()
    for path in stamp.ROOT.iterdir():
        if path.name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(path, source)
        elif path.joinpath("__init__.py").is_file():
            shutil.copytree(path, source / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, *"-m pip wheel --quiet --no-deps --no-build-isolation".split()]
    app.wheel = subprocess.Popen(
        [*command, "--no-index", "--wheel-dir", source.parent, source],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(DAY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def end(app, exception):
    said, _ = app.wheel.communicate()
    with app.wheel_folder as folder:
        if exception or app.builder.format != "html":
            return
        if app.wheel.returncode:
            raise ExtensionError(f"the wheel was not built: {said}")
        pack(Path(folder, stamp.wheel()), Path(app.outdir))


def pack(wheel, html):
    (html / "run").mkdir(exist_ok=True)
    shutil.copy(wheel, html / "run")
    readme = README.format(wheel=wheel.name).encode()
    files = {path.name: path.read_bytes() for path in html.parent.joinpath("plain").glob("*.ipynb")}
    files |= {wheel.name: wheel.read_bytes(), "README.txt": readme}
    with zipfile.ZipFile(
        html / "run" / f"{stamp.ARCHIVE}.zip", "w", zipfile.ZIP_DEFLATED
    ) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{stamp.ARCHIVE}/{name}", time.gmtime(DAY)[:6])
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED)


def setup(app):
    app.connect("builder-inited", begin)
    app.connect("build-finished", end, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
