"""MNIST with fixed wavelets and a linear classifier: about 0.9% of the test images wrong.

.venv/bin/python docs/recipes/mnist_scattering.py
"""

import sys
import time

from leadline import data
from leadline.convolution import fit_scattering_classifier

begun = time.monotonic()
mnist = data.load("mnist")


def bar(done: int) -> None:
    print(f"\r{done:6} of {len(mnist.train_labels)} images", end="", file=sys.stderr)


classifier = fit_scattering_classifier(mnist.train_inputs, mnist.train_labels, scales=3, penalty=1e-3, notice=bar)
wrong = (classifier.predict(mnist.test_inputs) != mnist.test_labels).mean()
print(f"\n{100 * wrong:.2f}% of the test images are wrong, after {time.monotonic() - begun:.0f} s")
