"""What each operation of PyTorch (ATen) computes, in JAX: one table in each module, joined in `table`."""
