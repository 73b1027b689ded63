"""An accessibility audit of a page by axe-core, which npm installs beside the tests."""

import contextlib
import fcntl
import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import Page

_TESTS = Path(__file__).parent
_SCRIPT = _TESTS / "node_modules" / "axe-core" / "axe.min.js"
_TAGS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
_RUN = """async (rules) => {
  const options = {runOnly: rules, resultTypes: ["violations"]};
  if (rules.type === "tag") options.rules = {"target-size": {enabled: true}};  // off unless asked for
  const {violations} = await axe.run(document, options);
  const why = ({any, all, none}) => [...any, ...all, ...none].map(check => check.message).join("; ");
  return violations.flatMap(({id, help, nodes}) =>
    nodes.map(node => `${id}: ${help}: ${node.html.slice(0, 160)} (${why(node)})`));
}"""


def violations(page: Page, *rules: str) -> list[str]:
    """What is wrong with a page for people who cannot see, hear or point well, one line an element; by all rules of
    WCAG 2.2 AA and good practice, or by those named."""
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(_script())  # not add_script_tag: a page's own policy may forbid that
    return page.evaluate(_RUN, {"type": "rule", "values": rules} if rules else _TAGS)


def _script() -> str:
    with _alone():
        if not _SCRIPT.exists():
            npm = shutil.which("npm")
            assert npm, "The audit of accessibility needs axe-core; install the package `npm` (.ci/run does it)."
            subprocess.run([npm, "ci", "--silent", "--prefix", str(_TESTS)], check=True)
    return _SCRIPT.read_text(encoding="utf-8")


@contextlib.contextmanager
def _alone():
    """Wait while another test process is installing."""
    with (_TESTS / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
