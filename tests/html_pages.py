"""How tests read a page: its tags, headings, ids and links."""

from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """What is on a page; `open` and `wrong` are tags not closed and not opened, both empty if it is well formed."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.levels: list[int] = []  # of the headings, in order
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def values(self, *names: str) -> list[str]:
        """All values of these attributes."""
        return [value or "" for _, attributes in self.tags for name, value in attributes.items() if name in names]
