"""Reading PNG sheets."""

import numpy as np
import pytest
from PIL import Image

from leadline.data.sources.image_files import read_png

PIXELS = np.random.default_rng(0).integers(0, 256, (7, 9, 3)).astype(np.uint8)


def test_pixels_come_back(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "x.png")
    assert np.array_equal(read_png(tmp_path / "x.png"), PIXELS)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(b"GIF89a")
    with pytest.raises(ValueError, match="cannot be read as PNG"):
        read_png(path)
    Image.fromarray(PIXELS[:, :, 0]).save(path)
    with pytest.raises(ValueError, match="red, green and blue"):
        read_png(path)
    Image.fromarray(PIXELS).save(path)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ValueError, match="cannot be read as PNG"):
        read_png(path)
