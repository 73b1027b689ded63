"""What terminal, pages, reports and notebooks share: figures, findings as HTML, verdicts in words."""

import lazy_loader as lazy

from leadline.evidence import finding

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def _as_html(shown: finding.Finding) -> str:
    from .gallery import finding_fragment

    return finding_fragment(shown)


finding.shown_as_html = _as_html
