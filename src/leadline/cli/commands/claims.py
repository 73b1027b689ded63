"""`leadline claims`: what there is."""

from typing import Annotated

import typer


def claims(
    words: Annotated[list[str] | None, typer.Argument(help="Only entries in which all these words occur.")] = None,
    chapter: Annotated[str, typer.Option(help="Only this chapter.")] = "",
    kind: Annotated[str, typer.Option(help="Only this kind: model, method, instrument or claim.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> None:
    """List the entries of every kind: models, methods, instruments and claims; a single one with its parameters."""
    from leadline import claims as chapters
    from leadline.evidence.registry import entries

    chapters.load()
    found = entries(chapter=chapter, kind=kind, text=" ".join(words or []))
    found = [e for e in found if [e.id] == words] or found
    if json:
        import json as codec

        print(codec.dumps([e.to_json() for e in found], ensure_ascii=False, indent=2))
        return
    from ..show import entry_lines, output, print_entry

    if len(found) == 1:
        print_entry(found[0])
        return
    output.out(entry_lines(found), highlight=False)
    output.print(f"{len(found)} entries. Run one with [bold]leadline check ID[/].", highlight=False)
