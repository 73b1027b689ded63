import gzip
import io
import os
import pickle
import tarfile

import numpy as np
import pytest
from image_samples import cifar_binary, idx, sample

from leadline.data.sources.image_files import (
    CIFAR_BINARY,
    ByteImages,
    read_array_file,
    read_idx,
    unpack,
    write_array_file,
)


def test_idx_files_are_read_plain_and_gzipped(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, (3, 4, 5))
    for content in (idx(values), gzip.compress(idx(values))):
        (tmp_path / "x").write_bytes(content)
        assert np.array_equal(read_idx(tmp_path / "x"), values)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(b"PNG!" + bytes(20)), "is not an IDX file"),
        (b"", "is not an IDX file"),
        (idx(np.zeros((3, 3)))[:-1], "is cut off: it announces 9 bytes and has 8"),
        (gzip.compress(idx(np.zeros((3, 3))))[:-9], "cannot be read as IDX"),
    ],
    ids=["other bytes", "empty", "cut off", "damaged gzip"],
)
def test_what_is_not_a_whole_idx_file_is_refused(tmp_path, content, sentence):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_idx(path)


def test_the_array_file_gives_back_what_was_written_and_leaves_nothing_beside_it(tmp_path):
    images = sample((5, 6))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.npz.1.part").write_bytes(b"left by a process that was killed long ago")
    os.utime(tmp_path / "a" / "x.npz.1.part", (0, 0))
    write_array_file(tmp_path / "a" / "x.npz", images)
    again = read_array_file(tmp_path / "a" / "x.npz")
    assert again.checksum() == images.checksum()
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["x.npz"]


def test_the_checksum_depends_on_every_byte_and_on_the_shapes():
    images = sample((4, 6))
    labels = images.test_labels.copy()
    labels[-1] ^= 1
    flat = images._replace(train_inputs=images.train_inputs.reshape(-1, 6, 4))
    assert len({images.checksum(), images._replace(test_labels=labels).checksum(), flat.checksum()}) == 3


def test_damaged_files_and_pickles_are_refused_and_never_unpickled(tmp_path):
    path = tmp_path / "x.npz"
    write_array_file(path, sample((4, 4)))
    whole = path.read_bytes()
    objects = io.BytesIO()
    np.savez(objects, **{f: np.array([print], object) for f in ByteImages._fields})
    for content in (whole[:-40], whole[: len(whole) // 2], b"", pickle.dumps(1), objects.getvalue()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read as an array file"):
            read_array_file(path)


def test_cifars_binary_records_become_images_with_the_colour_last(tmp_path):
    images = sample((32, 32, 3), train=10, test=2)
    cifar_binary(tmp_path, images)
    read = CIFAR_BINARY.read([tmp_path / name for name in CIFAR_BINARY.files])
    assert read.checksum() == images.checksum()


def test_an_archive_cannot_write_outside_the_folder(tmp_path):
    archive, folder = tmp_path / "x.tgz", tmp_path / "in" / "folder"
    folder.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("../../wanted", "/wanted2", "package/other"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("package/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    unpack(archive, folder, ["wanted", "wanted2", "link"])
    assert sorted(p.name for p in folder.iterdir()) == ["wanted", "wanted2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "x.tgz"]
