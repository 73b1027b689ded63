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
        reason="the rival imports and does nothing. Here a worker imports JAX (0.8 s) while the command reads the "
        "chapters to find the entry; then 22 programs are traced and their compiled forms loaded, SciPy's solvers and "
        "Altair are imported, and the entry runs: 2.2 s after it was handed over.",
    ),
]
