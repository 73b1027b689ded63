"""Start-up: what a person waits for at the terminal, against the time that PyTorch takes to be imported."""

from ..harness.case import LEADLINE, Case, Side

IMPORT = ("-c", "import torch; torch.ones(2) @ torch.ones(2)")


def case(name: str, *arguments: str) -> Case:
    program = "benchmarks.startup.commands"
    return Case(
        name,
        (
            Side(LEADLINE, program, "python", settings={"arguments": ["-m", "leadline", *arguments]}),
            Side("import torch", program, "python", "torch", {"arguments": IMPORT}),
        ),
        dict,
        tolerance=0.0,
    )


CASES = [
    case("leadline --help", "--help"),
    case("leadline claims", "claims"),
    case("leadline check novikoff-bound, the first result", "check", "novikoff-bound"),
]
