"""PyTorch modules as functions of JAX arrays: torch.export writes a program, which JAX runs step by step."""
