"""What is installed is what is in the tree: a wheel has every stub, template, style and recipe, and they load."""

import json
import os
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

import leadline

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "leadline"

LOADED = """
import importlib, json
from pathlib import Path

import leadline
from leadline.claims import modules
from leadline.evidence import entries
from leadline.presentation.gallery import templates
from leadline.studies import built_in
from leadline.training.recipes import read_recipe
from leadline.training.recipes.config_file import example
from leadline.web.assets import explorer_script, explorer_style
from leadline.web.known_findings import KnownFindings
from leadline.web.pages import Site

importlib.import_module(next(iter(modules())))  # all of them take seconds
root = Path(leadline.__file__).parent
folders = {folder: ".".join(folder.parent.relative_to(root.parent).parts) for folder in root.rglob("templates")}
site = Site(KnownFindings())
print(json.dumps({
    "from": str(root),
    "templates": sorted(
        page.relative_to(root).as_posix()
        for folder, package in folders.items()
        for page in folder.glob("*.html")
        if Path(templates(package).get_template(page.name).filename) == page
    ),
    "contents": site.home(),
    "entries": {entry.id: site.entry(entry.id) for entry in entries()},
    "style": explorer_style(),
    "script": explorer_script(),
    "recipes": sorted(file.relative_to(root).as_posix() for file in root.rglob("*.toml") if read_recipe(file)),
    "studied": built_in(),
    "example": example(),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The directory into which a wheel of the tree is unpacked."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory / "dist"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (built,) = (directory / "dist").glob("*.whl")
    with ZipFile(built) as archive:
        archive.extractall(directory / "unpacked")
    return directory / "unpacked"


@pytest.fixture(scope="module")
def loaded(wheel, tmp_path_factory) -> dict:
    """What the package of the wheel finds of its own files."""
    return json.loads(python_with(wheel, tmp_path_factory.mktemp("elsewhere"), "-c", LOADED))


def python_with(wheel: Path, directory: Path, *arguments: str) -> str:
    """What Python prints in a directory, when the package it sees first is that of the wheel."""
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    result = subprocess.run(
        [sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def metadata(wheel: Path):
    (file,) = wheel.glob("leadline-*.dist-info/METADATA")
    return HeaderParser().parsestr(file.read_text(encoding="utf-8"))


def names(pattern: str) -> list[str]:
    """The files of the tree's package that match, by their place in it."""
    return sorted(file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob(pattern))


def test_every_file_of_the_package_that_git_tracks_is_in_the_wheel(wheel):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PACKAGE, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this tree is not a git repository")
    tracked = [name for name in listed.stdout.split("\0") if name and (PACKAGE / name).exists()]
    assert "__init__.pyi" in tracked
    assert [name for name in tracked if not (wheel / "leadline" / name).is_file()] == []


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel):
    version = leadline.__version__
    assert {entry.name for entry in wheel.iterdir()} == {"leadline", f"leadline-{version}.dist-info"}


def test_the_wheel_says_that_it_is_typed(wheel):
    assert (wheel / "leadline" / "py.typed").is_file()
    assert "Typing :: Typed" in metadata(wheel).get_all("Classifier")


def test_the_wheel_states_its_licence_and_carries_the_text(wheel):
    told = metadata(wheel)
    assert told["License-Expression"] == "Apache-2.0"
    (carried,) = wheel.glob("*.dist-info/licenses/LICENSE")
    assert carried.read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_extras_install_a_gpu_build_of_jax_and_the_frameworks_whose_networks_are_studied(wheel):
    assert set(metadata(wheel).get_all("Provides-Extra")) >= {"cuda12", "flax", "torch", "test"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (jax,) = (d for d in project["dependencies"] if d.startswith("jax>"))
    assert project["optional-dependencies"]["cuda12"] == [jax.replace("jax", "jax[cuda12]")]


def test_the_citation_names_the_version_and_the_licence_of_the_wheel(wheel):
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    told = metadata(wheel)
    assert f"version: {told['Version']}" in lines
    assert f"license: {told['License-Expression']}" in lines


def test_the_command_of_the_wheel_shows_its_help(wheel, tmp_path):
    told = python_with(wheel, tmp_path, "-m", "leadline", "--help")
    assert "Usage:" in told
    assert "claims" in told


def test_the_command_of_the_wheel_lists_a_claim(wheel, tmp_path):
    listed = json.loads(python_with(wheel, tmp_path, "-m", "leadline", "claims", "novikoff", "--json"))
    assert "novikoff-bound" in [entry["id"] for entry in listed]


def test_what_runs_is_the_package_of_the_wheel_and_not_that_of_the_tree(wheel, loaded):
    assert Path(loaded["from"]) == wheel / "leadline"


def test_every_template_of_the_tree_loads_from_the_wheel(loaded):
    assert loaded["templates"] == names("templates/*.html") != []


def test_the_explorer_of_the_wheel_renders_its_pages(loaded):
    assert loaded["entries"]
    assert all(id in page for id, page in loaded["entries"].items())
    assert all(page.rstrip().endswith("</html>") for page in (loaded["contents"], *loaded["entries"].values()))


def test_the_explorer_of_the_wheel_has_the_style_and_the_script_of_the_tree(loaded):
    static = PACKAGE / "web" / "static"
    assert loaded["style"].endswith((static / "explorer.css").read_text(encoding="utf-8"))
    assert loaded["script"] == (static / "explorer.js").read_text(encoding="utf-8")


def test_every_recipe_of_the_tree_can_be_read_from_the_wheel(loaded):
    assert loaded["recipes"] == names("*.toml") != []
    assert {file.stem for file in (PACKAGE / "studies" / "recipes").glob("*.toml")} <= set(loaded["studied"])
    assert loaded["example"] == (PACKAGE / "training" / "recipes" / "example.toml").read_text(encoding="utf-8")
