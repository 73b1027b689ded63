"""Real datasets and generators; every generator is a pure function of a key."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "cards": ["PunchCards", "punch_cards"],
        "digit_images": ["Digits", "digits"],
        "fashion_images": ["FashionMnist", "fashion_mnist", "read_idx"],
        "mazes": ["DIRECTIONS", "Maze", "move_wall", "random_maze"],
        "overlapping": ["LabelledClouds", "gaussian_clouds"],
        "patterns": ["binarise", "digit_bitmaps", "random_signs"],
        "randomness": ["generator"],
        "separable": ["SeparableSample", "separable_ball"],
        "shell": ["ShellSample", "margin_shell", "shell_error"],
    },
)
