"""Real datasets and generators; every generator is a pure function of a key."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "batching": ["batch_sequence", "epoch_batches", "permutation"],
        "cache": ["cache_directory"],
        "cards": ["PunchCards", "punch_cards"],
        "catalogue": ["CATALOGUE", "Description", "describe"],
        "datasets": ["DataUnavailable", "Dataset", "availability", "load"],
        "diabetes_data": ["Diabetes", "diabetes"],
        "digit_images": ["Digits", "DigitsSplit", "digits", "digits_split"],
        "fruit": ["FruitImages", "fruit_images"],
        "image_files": ["ByteImages", "read_idx"],
        "mazes": ["DIRECTIONS", "Maze", "move_wall", "random_maze"],
        "overlapping": ["LabelledClouds", "gaussian_clouds"],
        "parities": ["ParitySample", "sparse_parity"],
        "patterns": ["binarise", "digit_bitmaps", "random_signs"],
        "randomness": ["generator"],
        "sentences": ["COMMON_WORDS", "Sentences", "common_word_sentences"],
        "separable": ["SeparableSample", "separable_ball"],
        "shell": ["ShellSample", "margin_shell", "shell_error"],
        "tones": ["Tones", "noisy_tones"],
    },
)
