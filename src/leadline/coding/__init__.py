"""Shannon's chain: compress a source, protect it with a channel code, send it over a noisy channel, and undo both."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "huffman": ["entropy", "huffman_code", "huffman_decode", "huffman_encode", "mean_length"],
        "transform": ["dct_quantise", "dct_reconstruct"],
        "channel": ["binary_entropy", "binary_symmetric_channel", "channel_capacity"],
        "hamming": ["Hamming"],
        "repetition": ["Repetition"],
        "pipeline": ["Transmission", "send", "transmit"],
    },
)
