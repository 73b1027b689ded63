from .batching import batch_sequence as batch_sequence, epoch_batches as epoch_batches
from .generators.fruit_images import fruit_images as fruit_images
from .generators.gaussian_clouds import gaussian_clouds as gaussian_clouds
from .generators.margin_shell import margin_shell as margin_shell
from .generators.mazes import random_maze as random_maze
from .generators.one_dimensional_digits import mnist_1d as mnist_1d
from .generators.parities import sparse_parity as sparse_parity
from .generators.patterns import digit_bitmaps as digit_bitmaps, random_signs as random_signs
from .generators.punch_cards import punch_cards as punch_cards
from .generators.sentences import common_word_sentences as common_word_sentences
from .generators.separable import separable_ball as separable_ball
from .generators.tones import noisy_tones as noisy_tones
from .randomness import generator as generator
from .sources.catalogue import CATALOGUE as CATALOGUE
from .sources.containers import (
    Graph as Graph,
    GraphSet as GraphSet,
    PointCloud as PointCloud,
    Series as Series,
    Text as Text,
    Volume as Volume,
)
from .sources.datasets import DataUnavailable as DataUnavailable, load as load
from .sources.diabetes_data import diabetes as diabetes
from .sources.digit_images import digits as digits, digits_split as digits_split
