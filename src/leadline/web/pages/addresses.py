"""Where pages are: the explorer and the book show the same ones, under different addresses."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Addresses:
    """The addresses of pages as seen from one page.

    `root` leads from that page to the top; `suffix` is what a file in the book ends with. `live` where a server runs
    what is asked of it.

    >>> Addresses("/").entry("novikoff-bound"), Addresses("../", ".html", live=False).entry("novikoff-bound")
    ('/entries/novikoff-bound', '../entries/novikoff-bound.html')
    """

    root: str = "/"
    suffix: str = ""
    live: bool = True

    @property
    def home(self) -> str:
        return f"{self.root}index{self.suffix}" if self.suffix else self.root

    @property
    def search(self) -> str:
        return self._page("search")

    @property
    def studies(self) -> str:
        return self._page("studies")

    @property
    def sources(self) -> str:
        return self._page("sources")

    @property
    def errata(self) -> str:
        return self._page("errata")

    @property
    def library(self) -> str:
        return self._page("library")

    def package(self, name: str) -> str:
        return self._page(f"library/{name}")

    def object(self, name: str) -> str:
        """A name of the library. Some disks take the file Path.html for path.html: in the book it is P-ath.html."""
        file = re.sub("([A-Z])", r"\1-", name) if self.suffix else name
        return self._page(f"library/{file}")

    def chapter(self, name: str) -> str:
        return self._page(f"chapters/{name}")

    def entry(self, id: str) -> str:
        return self._page(f"entries/{id}")

    def asset(self, name: str) -> str:
        return f"{self.root}assets/{name}"

    def _page(self, name: str) -> str:
        return f"{self.root}{name}{self.suffix}"
