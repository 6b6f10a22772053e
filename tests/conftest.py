"""Shapes and types checked while tests run, and the built book, shared by the tests of its
pages."""

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# before anything of the package is imported: from here on every call checks what its annotations
# say
CHECKED = ("recallbook.data", "recallbook.model", "recallbook.training")
install_import_hook([*CHECKED, "recallbook_theory.feature_kernels"], "shapes.checked")

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_finish():
    """What is loaded by now stays: the garbage collector does not walk it again and again, which is
    a fifth of the time of what makes many expressions."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def few_draws(monkeypatch):
    """Few draws are enough for a prediction of unequal facts: its precision is not asked."""
    for name, value in {"ENOUGH": 1.0, "STEP": 2, "MOST": 4}.items():
        monkeypatch.setattr(f"recallbook_theory.sampled.theory.{name}", value)


@pytest.fixture(scope="session")
def html(tmp_path_factory):
    """The folder of the built pages: the one named by BOOK_HTML if it is there, else a fresh build.

    `make test` builds the book first and names it, so that it is built once.
    """
    built = os.environ.get("BOOK_HTML")
    if built and (ROOT / built / "index.html").is_file():
        return ROOT / built
    output = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        [Path(sys.executable).parent / "jupyter-book", "build", ".", "--path-output", str(output)]
        + ["--all", "-W", "-n", "--keep-going"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return output / "_build" / "html"


@pytest.fixture(scope="module")
def browser():
    """Not for the session: as long as it is open, nothing else in the worker may run an event
    loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses to run its sandbox as root, as in a container.
        with playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as opened:
            yield opened
