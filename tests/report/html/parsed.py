"""A page as a tree of tags, by Python's parser; tags that HTML lets one leave out are closed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "input", "br", "wbr", "link"})
_CLOSES = {
    "tr": {"tr", "td", "th"},
    "td": {"td", "th"},
    "th": {"td", "th"},
    "tbody": {"tr", "td", "th", "thead", "tbody"},
    "option": {"option"},
}
_SCOPES = {"tr": "table", "td": "table", "th": "table", "tbody": "table", "option": "select"}


@dataclass
class Tag:
    name: str
    attributes: dict[str, str]
    parent: Tag | None = None
    children: list[Tag | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str, **attributes: str) -> list[Tag]:
        """All tags below it with this name and these attributes, `class_` for `class`, in their order."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        found: list[Tag] = []
        for child in self.children:
            if isinstance(child, Tag):
                if child.name == name and all(child.attributes.get(key) == value for key, value in wanted.items()):
                    found.append(child)
                found += child.all(name, **attributes)
        return found

    def first(self, name: str, **attributes: str) -> Tag:
        return self.all(name, **attributes)[0]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.at = Tag("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while self.at.name in _CLOSES.get(tag, ()) and self.at.name != _SCOPES.get(tag):
            assert self.at.parent is not None
            self.at = self.at.parent
        new = Tag(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(new)
        if tag not in VOID:
            self.at = new

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Tag(tag, {name: value or "" for name, value in attrs}, self.at))

    def handle_endtag(self, tag: str) -> None:
        while self.at.name != tag:
            assert self.at.name in {"tr", "td", "th", "tbody", "option"}, f"</{tag}> in {self.at.name}"
            assert self.at.parent is not None
            self.at = self.at.parent
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def tree(page: str) -> Tag:
    builder = _Builder()
    builder.feed(page)
    builder.close()
    return builder.root
