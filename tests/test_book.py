"""The built pages, without a browser: assets, links, figures.

Every check is a function from a folder of pages to a list of complaints, and is shown to complain
about a page that deserves it.
"""

import json
import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
import shared
import stamp
from bs4 import BeautifulSoup

# Elements that make a browser fetch something, and the attribute that says what.
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "use": "href",
    "image": "href",
}
# Relations of <link> that only name a page, and fetch nothing.
NAMED_ONLY = {"canonical", "index", "search", "next", "prev", "author", "license", "alternate"}


def pages(folder):
    """Path and parsed content of every page that a reader can reach."""
    for path in sorted(folder.rglob("*.html")):
        if "_static" not in path.relative_to(folder).parts:
            yield path, parsed(path)


@cache
def parsed(path):
    """The content of a page; parsing takes longer than any check, most of it for the colours of
    code."""
    text = re.sub(
        r"(?s)<pre>.*?</pre>",
        lambda code: re.sub("</?span[^>]*>", "", code[0]),
        path.read_text("utf-8"),
    )
    return BeautifulSoup(text, "html.parser")


def fetched(page):
    """The address of everything that a browser fetches to show `page`."""
    for name, attribute in FETCHED.items():
        for element in page.find_all(name):
            if element.get(attribute):
                yield element[attribute]
            for part in element.get("srcset", "").split(","):
                yield from part.split()[:1]
    for link in page.find_all("link", href=True):
        if not set(link.get("rel", [])) <= NAMED_ONLY:
            yield link["href"]


def broken_links(folder):
    found = dict(pages(folder))
    anchors = {
        path: {element["id"] for element in page.find_all(id=True)}
        | {element["name"] for element in page.find_all("a", attrs={"name": True})}
        for path, page in found.items()
    }
    wrong = []
    for path, page in found.items():
        addresses = [link["href"] for link in page.find_all("a", href=True)]
        for address in [*addresses, *fetched(page)]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if not target.is_file():
                wrong.append(f"{path.name}: {address}")
            elif parts.fragment and target in anchors:
                # The theme links the top of the page as "#".
                if unquote(parts.fragment) not in anchors[target]:
                    wrong.append(f"{path.name}: no anchor {address}")
    return wrong


def undescribed_images(folder):
    wrong = []
    for path, page in pages(folder):
        article = page.find("article")
        for image in article.find_all("img") if article else []:
            alt = image.get("alt", "")
            is_file_name = re.search(r"[0-9a-f]{16}|\.(png|svg|jpe?g|gif)$|/", alt)
            if len(alt.split()) < 5 or is_file_name:
                wrong.append(f"{path.name}: {image.get('src')} has alt text {alt!r}")
            caption = image.find_parent("figure") and image.find_parent("figure").figcaption
            if not caption or not caption.get_text(strip=True):
                wrong.append(f"{path.name}: {image.get('src')} has no caption")
    return wrong


def wrong_launch_buttons(folder):
    """A chapter has a button for Colab just if `make stamp` knows the address. Its parts:
    test_notebooks.py."""
    wrong = []
    repository = stamp.source()["repository"]
    for path, page in pages(folder):
        colab = (
            f"/github/{repository.split('github.com/')[-1]}/blob/plain-notebooks/{path.stem}.ipynb"
        )
        found = [link["href"] for link in page.find_all("a", href=re.compile("colab.research"))]
        right = bool(found) == bool(repository) and not [
            address for address in found if not address.endswith(colab)
        ]
        wrong += [f"{path.name}: {found}, run `make stamp`"] * (
            path.parent.name == "notebooks" and not right
        )
    return wrong


CHECKS = (
    broken_links,
    undescribed_images,
    wrong_launch_buttons,
)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_book(html, check):
    assert check(html.resolve()) == []


def test_a_book_with_an_address_says_where_it_stands(monkeypatch):
    monkeypatch.setattr(shared.stamp, "source", lambda: {"pages": "https://a.org/b"})
    tags = shared.tags("1 < 2", "so", "https://a.org/b/book/laws.html")
    assert 'content="https://a.org/b/book/laws.html"' in tags and "1 &lt; 2" in tags
    assert 'property="og:image" content="https://a.org/b/_static/shared.png"' in tags


@pytest.mark.slow
def test_mathematics_of_entries_is_taken_for_mathematics(html):
    folder = html.resolve() / "book"
    details = [parsed(path) for path in sorted(folder.glob("api/*.html"))]
    assert details
    for page in (parsed(folder / "api.html"), *details):
        assert "$" not in page.article.get_text()


def test_pictures_and_files_that_the_readme_names_exist():
    text = (stamp.ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert named
    assert [name for name in named if not (stamp.ROOT / name).is_file()] == []


def test_the_readme_runs_and_its_certificate_is_proved():
    text, names = (stamp.ROOT / "README.md").read_text(encoding="utf-8"), {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    found = names["proved"]
    least, most = map(float, re.search(r"accuracy from (.*) to (.*): a mean", text).groups())
    assert [least, most] == pytest.approx([found.accuracy, found.at_most.accuracy], abs=1e-3)
    assert least < found.accuracy and most > found.at_most.accuracy
    assert "means over output embeddings" in repr(found)


def test_the_map_of_chapters_says_what_each_needs():
    """What the boxes call prerequisites, and what these need in turn."""
    drawing = (stamp.ROOT / "book" / "images" / "chapters.svg").read_text(encoding="utf-8")
    arrows, boxes = {}, {}
    for file, chapter, needs in re.findall(
        r'href="../notebooks/(\w+)\.html" data-chapter="(\d+)" data-needs="([\d ]*)"', drawing
    ):
        arrows[int(chapter)] = set(map(int, needs.split()))
        cells = json.loads(
            (stamp.ROOT / "notebooks" / f"{file}.ipynb").read_text(encoding="utf-8")
        )["cells"]
        line = re.search(r"Prerequisites\.\*\*(.*)", "".join(cells[0]["source"]))[1]
        named = [int(number) for number in re.findall(r"`(\d\d)_", line)]
        boxes[int(chapter)] = set(range(named[0], named[-1] + 1) if "` to {" in line else named)
    assert set(arrows) == set(range(1, 13))
    for needs in (arrows, boxes):
        for chapter in sorted(needs):
            needs[chapter] = needs[chapter].union(*(needs[n] for n in needs[chapter]))
    assert arrows == boxes, "book/images/chapters.svg or a chapter's box"


KINDS = {
    "table": (".table-caption", r"Table (\d+)\.(\d+)\. "),
    "figure": ("figcaption .caption-number", r"Fig\. (\d+)\.(\d+) "),
    "formula": (".eqno", r"\((\d+)\.(\d+)\)"),
    "exercise": ("div.exercise .caption-number", r"Exercise (\d+)\.(\d+)"),
    "theorem": ("div.theorem .caption-number", r"Theorem (\d+)\.(\d+)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_numbered_counts_by_chapter(html, kind):
    place, form = KINDS[kind]
    found = {}
    for path in (html / "notebooks").glob("*.html"):
        chapter = int(re.search(r"\d\d", path.stem)[0])
        if chapter == 13:  # of the page Run it, which has no number
            continue
        for element in parsed(path).article.select(place):
            number = re.match(form, element.get_text())
            assert number and int(number[1]) == chapter, (path.name, element.get_text())
            found.setdefault(chapter, []).append(int(number[2]))
    assert len(found) >= 2
    for chapter, numbers in found.items():
        assert len(numbers) == len(set(numbers)), (chapter, sorted(numbers))
