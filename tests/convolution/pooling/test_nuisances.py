import numpy as np
import pytest

from leadline.convolution import nuisance_curves, usual_nuisances


def test_a_classifier_of_places_loses_what_a_shift_moves():
    images = np.zeros((8, 8, 8))
    images[np.arange(8), 4, np.arange(8)] = 1.0  # a bright pixel in column n

    def column(x):
        return x.sum(1)

    found = nuisance_curves(column, images, np.arange(8))
    assert found["shift"].tolist() == [8, 0, 0, 0]
    assert found["brightness"].tolist() == [8] * 6
    # a square of s in the middle of 8 x 8 hides s of the columns in row 4 (from size 1 on: row 3 only, at size 1);
    # with nothing left to see, the first of equal scores is column 0
    assert found["occlusion"].tolist() == [8, 8, 6, 5, 4]


def test_every_image_needs_a_label():
    with pytest.raises(ValueError, match="labels"):
        nuisance_curves(lambda x: x.sum(1), np.ones((3, 4, 4)), np.arange(2))
    assert set(usual_nuisances()) == {"brightness", "shift", "rotation", "occlusion"}
