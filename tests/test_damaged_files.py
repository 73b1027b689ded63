"""Files of users', damaged in any way, are read as what they are or refused in one sentence: never a traceback."""

import gzip
import io
import os
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from image_samples import idx, sample

from leadline._files import UnreadableFile, is_regular, reading
from leadline._messages import BadInput
from leadline.data.sources.image_files import read_array_file, read_idx, read_png, unpack, write_array_file
from leadline.studies.intake.tables import read_parts
from leadline.training import load_weights
from leadline.training.recipes import read_recipe

ROWS = 12
X, Y = np.arange(2.0 * ROWS).reshape(ROWS, 2), np.arange(ROWS) % 3
RECIPE = b'[data]\nname = "digits"\nvalidation = 0.2\n[model]\nkind = "mlp"\nhidden = [8]\n[training]\nepochs = 2\n'


def npz(savez=np.savez) -> bytes:
    file = io.BytesIO()
    savez(file, x=X, y=Y)
    return file.getvalue()


def table(form: str, **columns) -> bytes:
    import pyarrow as pa
    from pyarrow import csv, parquet

    file = io.BytesIO()
    content = pa.table(columns or {"a": X[:, 0], "b": X[:, 1], "kind": [f"class {y}" for y in Y]})
    csv.write_csv(content, file) if form == "csv" else parquet.write_table(content, file)
    return file.getvalue()


def safetensors() -> bytes:
    from safetensors.numpy import save

    return save({"w": X, "b": Y})


def png() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(file, format="PNG")
    return file.getvalue()


def array_file() -> bytes:
    with TemporaryDirectory() as folder:
        write_array_file(Path(folder) / "x.npz", sample((4, 4)))
        return (Path(folder) / "x.npz").read_bytes()


def archive() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        member = tarfile.TarInfo("package/images")
        member.size = 40
        tar.addfile(member, io.BytesIO(bytes(range(40))))
    return file.getvalue()


def unpacked(path: Path) -> None:
    with TemporaryDirectory() as folder:
        unpack(path, Path(folder), ["images"])


FORMS = {  # a good file, its name, and who reads it
    "npz": (npz, "x.npz", read_parts),
    "compressed npz": (lambda: npz(np.savez_compressed), "x.npz", read_parts),
    "csv": (lambda: table("csv"), "x.csv", lambda path: read_parts(path, "kind")),
    "parquet": (lambda: table("parquet"), "x.parquet", lambda path: read_parts(path, "kind")),
    "safetensors": (safetensors, "x", lambda path: load_weights(path, {"w": np.zeros_like(X), "b": np.zeros_like(Y)})),
    "toml": (lambda: RECIPE, "x.toml", read_recipe),
    "array file": (array_file, "x.npz", read_array_file),
    "idx": (lambda: gzip.compress(idx(np.zeros((3, 3)))), "x.gz", read_idx),
    "png": (png, "x.png", read_png),
    "tar": (archive, "x.tgz", unpacked),
}


@cache
def good(form: str) -> bytes:
    return FORMS[form][0]()


@st.composite
def damages(draw, content: bytes) -> bytes:
    """The content with bytes altered, cut out, doubled or put in, once or a few times."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "set", "cut off", "cut out", "insert", "double"]))
        length = draw(st.integers(1, 40))
        if kind == "flip":
            flipped = content[place : place + 1]
            content = (
                content[:place] + bytes(b ^ (1 << draw(st.integers(0, 7))) for b in flipped) + content[place + 1 :]
            )
        elif kind == "set":
            content = content[:place] + bytes([draw(st.integers(0, 255))]) + content[place + 1 :]
        elif kind == "cut off":
            content = content[:place]
        elif kind == "cut out":
            content = content[:place] + content[place + length :]
        elif kind == "insert":
            content = content[:place] + draw(st.binary(min_size=1, max_size=40)) + content[place:]
        else:
            content = content[:place] + content[place : place + length] * 2 + content[place + length :]
    return content


def is_a_sentence(text: str) -> bool:
    return "\n" not in text and text.endswith((".", "?")) and 20 < len(text) < 1000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("error")
@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_in_one_sentence(form, data, tmp_path):
    _, name, read = FORMS[form]
    path = tmp_path / name
    path.write_bytes(good(form))
    read(path)  # a reader that refuses everything would pass the rest
    path.write_bytes(data.draw(damages(good(form))))
    try:
        read(path)
    except BadInput as refusal:
        assert is_a_sentence(str(refusal)), refusal


def zipped(compression=zipfile.ZIP_STORED, **members: bytes) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as out:
        for name, content in members.items():
            out.writestr(f"{name}.npy", content)
    return bytearray(file.getvalue())


def npy(array: np.ndarray, header: str = "") -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    return content if not header else content[:10] + header.encode().ljust(len(content) - 11 - array.nbytes) + b"\n"


def encrypted() -> bytes:
    content = zipped(x=npy(X), y=npy(Y))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(mark)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(mark, start + 1)
    return bytes(content)


def unknown_compression() -> bytes:
    content = zipped(x=npy(X), y=npy(Y))
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = content.find(mark)
        while start >= 0:
            content[start + place] = 97
            start = content.find(mark, start + 1)
    return bytes(content)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (144115188075855872,), }"

REFUSED = {
    "a plain array": ("x.npz", npy(X), "is a single array"),
    "an encrypted archive": ("x.npz", encrypted(), "encrypted"),
    "a member that is cut off": ("x.npz", bytes(zipped(x=npy(X)[:-40], y=npy(Y))), "cannot be read as NPZ"),
    "an unknown compression": ("x.npz", unknown_compression(), "compression"),
    "a header that does not parse": ("x.npz", bytes(zipped(x=npy(X, "{'descr': "), y=npy(Y))), "cannot be read as NPZ"),
    "a shape of exabytes": ("x.npz", bytes(zipped(x=npy(X, HUGE), y=npy(Y))), "Unable to allocate"),
    "objects": ("x.npz", bytes(zipped(x=npy(np.array([print])), y=npy(Y))), "allow_pickle"),
    "a column twice": ("x.csv", b"a,kind,a\n1,2,3\n", "has the column a twice"),
    "a column without a name": ("x.csv", b",a,kind\n0,1,2\n", "Column 1 of"),
    "Latin-1 in a name": ("x.csv", "größe,kind\n1,2\n".encode("latin-1"), "UTF-8"),
    "Latin-1 in a value": ("x.csv", "a,kind\n1,schön\n".encode("latin-1"), "binary"),
    "bytes as labels": ("x.parquet", table("parquet", a=X[:, 0], kind=[b"\xff"] * ROWS), "values of type binary"),
    "lists as labels": ("x.parquet", table("parquet", a=X[:, 0], kind=[[1, 2]] * ROWS), "values of type list"),
    "lists as inputs": ("x.parquet", table("parquet", a=[[1, 2]] * ROWS, kind=Y), "values of type list"),
    "thousands of brackets": ("x.toml", b"a = " + b"[" * 5000, "is no recipe"),
    "thousands of digits": ("x.toml", RECIPE + b"batch = " + b"9" * 5000, "is no recipe"),
    "more than any float": ("x.toml", RECIPE + b"rate = " + b"9" * 400, "is not a number"),
    "20,000 characters": ("x.toml", RECIPE.replace(b"digits", b"d" * 20_000), "There is no name 'dddd"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_library_expects_is_refused_in_one_sentence(what, tmp_path):
    name, content, told = REFUSED[what]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput) as refusal:
        read_recipe(path) if path.suffix == ".toml" else read_parts(path, "kind")
    assert told in str(refusal.value)
    assert is_a_sentence(str(refusal.value))


def test_categories_and_decimals_of_a_table_are_taken(tmp_path):
    import decimal

    import pyarrow as pa

    kinds = pa.array([f"class {y}" for y in Y]).dictionary_encode()
    numbers = [decimal.Decimal(f"{n}.5") for n in range(ROWS)]
    (tmp_path / "x.parquet").write_bytes(table("parquet", a=numbers, kind=kinds))
    train, test = read_parts(tmp_path / "x.parquet", "kind")
    inputs, labels = (np.concatenate(parts) for parts in zip(train, test, strict=True))
    assert sorted(inputs[:, 0]) == [n + 0.5 for n in range(ROWS)]
    assert labels.tolist() == [f"class {int(number) % 3}" for number in inputs[:, 0]]


def occupied(path: Path, by: str) -> None:
    if by == "a directory":
        path.mkdir()
    elif by == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)


@pytest.mark.parametrize("by", ["a directory", "a pipe", "a cycle of links"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_file_is_named_before_it_is_opened(form, by, tmp_path):
    _, name, read = FORMS[form]
    occupied(tmp_path / name, by)
    with pytest.raises(UnreadableFile, match=f"is {by}"):
        read(tmp_path / name)


def test_nothing_at_a_path_is_told_from_something_that_cannot_be_read(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"There is no file .*none; give one"),
        reading(tmp_path / "none", "text", "give one"),
    ):
        pass
    with pytest.raises(UnreadableFile, match="is no path"):
        is_regular("a\0b")
