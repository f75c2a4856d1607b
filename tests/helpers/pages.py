"""What tests ask of a page of HTML, read by the standard library's parser."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LOADING = {"img", "script", "link", "iframe", "source", "video", "audio", "embed", "object"}


class PageReader(HTMLParser):
    """Reads a page: its elements in order, ids, links, headings and text, and the tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.mismatched: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        self.mismatched += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.mismatched += [f"<{tag}> has {name} twice" for name in {*names} if names.count(name) > 1]
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.mismatched.append(f"</{tag}> closes {self.open[-1:] or 'nothing'}")

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open[-1:]}:
            self.text.append(data)

    def of(self, *tags: str) -> list[dict[str, str]]:
        """The attributes of every element with one of these tags."""
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def ids(self) -> list[str]:
        """Every id, in order."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def words(self) -> str:
        """The text, each run of white space a space."""
        return " ".join(" ".join(self.text).split())


def faults(page: str) -> list[str]:
    """What is wrong with a page whatever it says: tags, ids, links within it, pictures, headings, tables, language."""
    read = PageReader(page)
    found = list(read.mismatched)
    found += [f"the id {name!r} occurs twice" for name in sorted({*read.ids}) if read.ids.count(name) > 1]
    links = [attributes["href"] for attributes in read.of("a") if "href" in attributes]
    found += [f"the link {link} leads nowhere" for link in links if link.startswith("#") and link[1:] not in read.ids]
    for _, attributes in read.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            found += [
                f"{name} names {each!r}, no id" for each in attributes.get(name, "").split() if each not in read.ids
            ]
    found += ["a picture has no alternative text" for picture in read.of("img") if not picture.get("alt")]
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    found += [f"a heading jumps from level {a} to {b}" for a, b in zip([0, *levels], levels, strict=False) if b > a + 1]
    if levels.count(1) != 1:
        found.append(f"there are {levels.count(1)} headings of level 1")
    tables, captions = len(read.of("table")), len(read.of("caption"))
    if tables != captions:
        found.append(f"{tables} tables have {captions} captions")
    found += ["a head of a table has no scope" for head in read.of("th") if head.get("scope") not in ("col", "row")]
    if [attributes.get("lang") for attributes in read.of("html")] != ["en"]:
        found.append("the page does not say its language")
    return found


def requests(page: str) -> list[str]:
    """Every address that the page would load from elsewhere, in an element or in a style."""
    read = PageReader(page)
    loaded = [
        attributes[name]
        for tag, attributes in read.elements
        if tag in LOADING
        for name in ("src", "href", "data", "srcset")
        if name in attributes and attributes.get("rel") not in ("canonical", "prev", "next", "alternate")
    ]
    styled = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", page)
    loaded += [address for pair in styled for address in pair if address]
    return [address for address in loaded if re.match(r"(https?:)?//", address)]
