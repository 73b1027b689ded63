"""Words that the project has given up do not come back; docs/vocabulary.md has those it keeps."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OLD = {
    "evidence import printed": "erratum",
    "printed error": "erratum",
    "printed form": "erratum",
    "as_finding": "as_empirical",
    "HeldHessian": "LinearisedHessian",
    "held_if_small": "dense_if_small",
    "Whereabouts": "LossAround",
    "Surroundings": "NetworkAtPoint",
    "Entrant": "Contender",
    "NesterovMemory": "NesterovState",
    "HeavyBallMemory": "HeavyBallState",
    "AverageMemory": "AverageState",
    "RegressionLaw": "RegressionDistribution",
    "BinaryLaw": "BinaryDistribution",
    "EmpiricalLaw": "EmpiricalDistribution",
    "ReportShelf": "StudyReports",
    "class Wish": "Request",
    "class Past": "TrainingHistory",
    "class Part(": "NotApplicable",
    "class Settled": "a word that says what has settled",
    "class Law": "Distribution",
    "printed_by": "erratum",
    "probability law": "distribution",
    "fmt: skip": "a shorter call",
    "||^2": "‖w‖²",
}


def texts() -> list[Path]:
    places = ("src", "tests", "benchmarks", "docs", "README.md", "CONTRIBUTING.md")
    files = [f for p in places for f in ([ROOT / p] if (ROOT / p).is_file() else (ROOT / p).rglob("*"))]
    kinds = {".py", ".pyi", ".md", ".html", ".js", ".css"}
    return [f for f in files if f.suffix in kinds and "node_modules" not in f.parts and f != Path(__file__)]


@pytest.mark.parametrize("word", OLD)
def test_an_old_word_has_not_come_back(word):
    where = [str(f.relative_to(ROOT)) for f in texts() if word in f.read_text(encoding="utf-8")]
    assert where == [], f"say {OLD[word]} instead of {word!r}"


def test_arguments_of_the_library_have_the_names_of_the_field():
    """A float called `step` is a step_size, an int called `steps` is num_steps."""
    old = {("step", "float"), ("step", "float | None"), ("steps", "int"), ("steps", "int | None")}
    wrong = []
    for file in (ROOT / "src" / "leadline").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                arguments = [a for a in node.args.args + node.args.kwonlyargs if a.annotation]
                named = {(a.arg, ast.unparse(a.annotation)) for a in arguments}
                wrong += [f"{file.relative_to(ROOT)}: {node.name}({name})" for name, _ in named & old]
    assert wrong == []
