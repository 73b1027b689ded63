"""The JSON schemas that docs/json.md states, and a parser that takes JSON at its word."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs" / "json.md"


def schema(name):
    (text,) = re.findall(rf"```json schema={name}\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    return json.loads(text)


def strict(text):
    """Parse JSON that must not contain NaN or Infinity as bare words."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
