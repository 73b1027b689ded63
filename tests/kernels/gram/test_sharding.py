"""Gram matrices and tangent kernels over 8 devices of one process, and over 2 processes on loopback."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from leadline import kernels

MEASURE = """
import jax, json, numpy as np
jax.config.update("jax_enable_x64", True)
{join}
from leadline import as_apply, infinite_width, kernels, networks, tangent

rng = np.random.default_rng(0)
x, z, y = rng.normal(size=(37, 5)), rng.normal(size=(21, 5)), rng.normal(size=37)
wide = infinite_width.dense_stack(2, "relu", W_std=1.4, b_std=0.1).kernel_fn
apply, params = as_apply(networks.MLP((5, 8, 2), key=jax.random.key(0)))
errors = {{}}
for name, kernel in {{
    "laplace": kernels.Laplace(1.3),
    "infinite width": lambda a, b: wide(a, b, get="ntk"),
    "finite width": lambda a, b: tangent.empirical_ntk(apply, params, a, b),
}}.items():
    spread, alone = kernels.sharded_gram(kernel, x, z), np.asarray(kernel(x, z))
    errors[name] = float(abs(spread.whole() - alone).max() / abs(alone).max())
K = kernels.sharded_gram(kernels.Laplace(1.3), x)
missed = (K.whole() + 0.1 * np.eye(37)) @ np.asarray(K.solve(y, 0.1, tolerance=1e-12)) - y
errors["solve"] = float(np.linalg.norm(missed) / np.linalg.norm(y)) / 100  # to the tolerance asked for
blocks = [s.data.shape for s in K.blocks.addressable_shards]
print(json.dumps([len(jax.devices()), blocks, errors]))
"""


def start(join="", flags=""):
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", MEASURE.format(join=join)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def answer(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


@pytest.mark.slow
def test_eight_devices_hold_a_block_each_and_give_the_same_numbers():
    devices, blocks, errors = answer(start(flags="--xla_force_host_platform_device_count=8"))
    assert devices == 8
    assert blocks == [[10, 19]] * 8
    assert max(errors.values()) < 2e-14, errors


@pytest.mark.slow
def test_two_processes_hold_a_block_each_and_give_the_same_numbers():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    join = 'jax.distributed.initialize("127.0.0.1:{}", 2, {})'
    processes = [start(join=join.format(port, rank)) for rank in range(2)]
    for devices, blocks, errors in map(answer, processes):
        assert devices == 2
        assert blocks == [[19, 37]]
        assert max(errors.values()) < 2e-14, errors


def test_one_device_is_a_mesh_too():
    x = np.random.default_rng(0).normal(size=(5, 2))
    spread = kernels.sharded_gram(lambda a, b: a @ b.T, x)
    np.testing.assert_allclose(spread.whole(), x @ x.T, atol=1e-15)
    np.testing.assert_allclose(spread.product(np.ones((5, 2))), x @ x.T @ np.ones((5, 2)), atol=1e-14)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match=r"shape \(2,\) and \(3,\)"):
        kernels.sharded_gram(lambda a, b: a @ b.T, np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="square Gram matrix; this one is 2 x 3"):
        kernels.sharded_gram(lambda a, b: a @ b.T, np.ones((2, 2)), np.ones((3, 2))).solve(np.ones(2), 0.1)
