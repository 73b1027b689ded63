"""The augmentation of a recipe as an objective of training."""

from typing import Any

from leadline.convolution.augmentation import (
    AffineWarp,
    Augmented,
    Brightness,
    ChannelsLast,
    Contrast,
    Cutout,
    ElasticWarp,
    Flip,
    Noise,
    Pipeline,
    Shift,
    soft_cross_entropy,
)
from leadline.convolution.augmentation.pipelines import Step
from leadline.regularisation import ModalObjective

from ..engine.objective import Objective
from ..objectives import Loss
from .settings import AugmentationSettings


def augmented(
    settings: AugmentationSettings,
    objective: Objective | None,
    loss: str | Loss,
    shape: tuple[int, ...],
    *,
    classes: int,
) -> Augmented:
    """The objective on images of this shape that are changed as the settings say; of a `loss` where there is none.

    >>> changed = augmented(AugmentationSettings(shift=2), None, "cross-entropy", (8, 8), classes=10)
    >>> changed.step.steps[0].steps
    (Shift(reach=2, wrap=False),)
    """
    if len(shape) not in (2, 3):
        raise ValueError(f"[augmentation] is for images; these data have rows of shape {shape}.")
    step: Step = Pipeline(*image_steps(settings))
    how: dict[str, Any] = {"mixup": settings.mixup, "classes": classes}
    if settings.mixup and loss == "cross-entropy":
        loss = soft_cross_entropy
        objective = None if objective is None else ModalObjective(loss)
    how |= {"loss": loss} if objective is None else {"objective": objective}
    return Augmented(step if len(shape) == 2 else ChannelsLast(step), **how)


def image_steps(s: AugmentationSettings) -> list[Step]:
    """The steps that are switched on, geometry first; one interpolation for rotation and zoom."""
    bounds = None  # data may be standardised
    switched: list[tuple[Any, Any]] = [
        (s.shift, lambda: Shift(s.shift)),
        (s.flip, lambda: Flip("left-right", s.flip)),
        (s.rotation or s.zoom, lambda: AffineWarp(degrees=s.rotation, zoom=s.zoom)),
        (s.elastic, lambda: ElasticWarp(s.elastic)),
        (s.brightness, lambda: Brightness(s.brightness, bounds=bounds)),
        (s.contrast, lambda: Contrast(s.contrast, bounds=bounds)),
        (s.noise, lambda: Noise(s.noise, bounds=bounds)),
        (s.cutout, lambda: Cutout(s.cutout)),
    ]
    return [make() for on, make in switched if on]
