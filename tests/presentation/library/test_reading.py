"""What the library offers: signatures as written, prose as HTML, examples that run as they are copied."""

import ast
import contextlib
import doctest
import importlib
import io
import json
from pathlib import Path

import pytest

from leadline.presentation.library import library_names, library_object, library_packages, packages_within
from leadline.presentation.library.offer import INDEX
from leadline.presentation.library.reading import offered, prose_html, summary
from leadline.presentation.library.signatures import signature

RUN = (
    "bayes.grid_posterior",
    "kernels.Subsequence",
    "learning.top_k_error",
    "landscape.sloppiness.wishart_edges",
    "stochastic.hill_estimate",
    "linear_classifiers.perceptrons.learn",
    "neurons.coding.huffman_code",
)


def session(code: str) -> str:
    """What Python prints when the code is put in line by line."""
    names, printed = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(code).body:
            exec(compile(ast.Interactive([statement]), "example", "single"), names)
    return printed.getvalue()


def test_the_index_is_what_the_source_says():
    assert json.loads(INDEX.read_text(encoding="utf-8")) == json.loads(json.dumps(offered())), (
        "The index of the library is stale: run `python -m leadline.claims.indexing`."
    )


def test_every_name_of_a_package_is_an_object_of_the_index():
    packages = library_packages()
    assert [name for name in library_names() if name not in packages and library_object(name).name != name] == []


@pytest.mark.parametrize("name", RUN)
def test_an_example_runs_as_it_is_copied_and_prints_what_is_shown(name):
    told = library_object(name)
    want = "".join(e.want for e in doctest.DocTestParser().get_examples(told.example + "\n"))
    assert want
    assert session(told.code) == want


def test_imports_are_those_a_reader_would_write():
    code = library_object("optimisation.nesterov").code
    assert code.startswith("import jax.numpy as jnp\nfrom leadline.optimisation import nesterov\n\nrule, y = ")
    assert library_object("kernels.features.gabor_features").code.startswith(
        "import numpy as np\nfrom leadline.kernels.features import gabor_bank, gabor_features\n\n"
    )


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("learning.top_k_error", "top_k_error(labels: Labels, scores: Scores, k: int) -> float"),
        ("kernels.Subsequence", "Subsequence(length: int = 2, decay: float = 0.5)\n    .__call__(x, z)"),
        (
            "kernels.ridge_leverage",
            'ridge_leverage(\n    gram: Float[Array | np.ndarray, "n n"],\n    penalty: float,\n)',
        ),
        (
            "learning.lasso",
            "lasso(\n    x: Inputs,\n    y: Targets,\n    penalty: Scalar,\n    *,\n    intercept: bool = True,",
        ),
        ("kernels.machines.Expansion", "Expansion(kernel: Gram, centres: Points, coefficients: Num[Array"),
        ("networks.MLP", "MLP(\n    widths: Sequence[int],\n"),
        ("learning.LOSSES", "LOSSES: 'squared', 'half_squared', "),
    ],
)
def test_signatures_are_as_the_source_writes_them(name, start):
    assert library_object(name).signature.startswith(start)


def test_a_tuple_is_told_by_what_it_holds():
    assert signature("ORDERS", ("cyclic", "shuffle once")) == "ORDERS: 'cyclic', 'shuffle once'"


def test_tables_have_no_documentation_of_their_own():
    assert library_object("learning.LOSSES")[2:] == ("", "", "", "")


def test_every_exported_name_is_listed_under_its_package():
    for name, package in library_packages().items():
        module = importlib.import_module(f"leadline.{name}")
        folder = Path(module.__file__).parent
        modules = {own for own in module.__all__ if (folder / own).is_dir() or (folder / f"{own}.py").is_file()}
        assert set(package.names) >= set(module.__all__) - modules, name  # a function may have the name of its module
        assert set(package.names) <= set(module.__all__), name


def test_packages_lie_within_others():
    assert "linear_classifiers.margins" not in {p.name for p in packages_within("")}
    assert "linear_classifiers.margins" in {p.name for p in packages_within("linear_classifiers")}
    for name in library_packages():
        above = name.rpartition(".")[0]
        assert not above or above in library_packages(), f"{name} is in a package that has no page"


def test_a_summary_is_the_first_sentence():
    assert summary("Steps of 0.5, e.g. on\na slope. They end.\n\nMore.") == "Steps of 0.5, e.g. on a slope."
    assert summary("A table:\n\n    1 2") == "A table"
    assert library_object("learning.top_k_error").summary


def test_mathematics_in_prose_is_no_markup():
    assert prose_html("a*b*c < d_i_ & `x_1`") == "<p>a*b*c &lt; d_i_ &amp; <code>x_1</code></p>\n"
    assert prose_html("# no title\n\n<b>[x](y)</b>") == "<p># no title</p>\n<p>&lt;b&gt;[x](y)&lt;/b&gt;</p>\n"
    assert "<pre><code>w = u\n</code></pre>" in prose_html("so that\n\n    w = u\n\nholds")
    assert "<li>one</li>" in prose_html("- one\n- two").replace("<p>", "").replace("</p>", "")
