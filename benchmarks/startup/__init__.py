"""Start-up: what a person waits for at the terminal, against the time that PyTorch takes to be imported."""

from ..harness.case import LEADLINE, Case, Side

IMPORT = ("-c", "import torch; torch.ones(2) @ torch.ones(2)")


def case(name: str, *arguments: str, reason: str = "") -> Case:
    program = "benchmarks.startup.commands"
    return Case(
        name,
        (
            Side(LEADLINE, program, "python", settings={"arguments": ["-m", "leadline", *arguments]}),
            Side("import torch", program, "python", "torch", {"arguments": IMPORT}),
        ),
        dict,
        tolerance=0.0,
        reason=reason,
    )


CASES = [
    case("leadline --help", "--help"),
    case(
        "leadline claims",
        "claims",
        reason="importing JAX, Equinox and Optax is 1.3 s of it; then 12 chapters are imported and a table of more "
        "than 600 rows is laid out.",
    ),
    case(
        "leadline check novikoff-bound, the first result",
        "check",
        "novikoff-bound",
        reason="the command imports JAX and all chapters to find the entry, and only then starts the worker, which "
        "imports JAX once more; the two could go on at the same time.",
    ),
]
