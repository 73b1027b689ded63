from .backgrounds import NewBackground as NewBackground, gradient_share as gradient_share
from .image_moves import Crop as Crop, Cutout as Cutout, Flip as Flip, Shift as Shift
from .image_values import Brightness as Brightness, Contrast as Contrast, Noise as Noise, Threshold as Threshold
from .image_warps import (
    AffineWarp as AffineWarp,
    ElasticWarp as ElasticWarp,
    PerspectiveWarp as PerspectiveWarp,
    affine_warp as affine_warp,
    warp as warp,
)
from .kernel_smoother import jitter_limit as jitter_limit
from .objectives import Augmented as Augmented, mixup as mixup, soft_cross_entropy as soft_cross_entropy
from .pipelines import (
    ChannelsLast as ChannelsLast,
    Pipeline as Pipeline,
    Sometimes as Sometimes,
    augment as augment,
    augmented_copies as augmented_copies,
)
from .sounds import AxisMask as AxisMask, Gain as Gain, TimeShift as TimeShift, TimeStretch as TimeStretch
from .texts import (
    SynonymSwap as SynonymSwap,
    TokenDropout as TokenDropout,
    TokenMasking as TokenMasking,
    WordOrderNoise as WordOrderNoise,
)
from .transition_matrices import LabelTransitions as LabelTransitions, label_transitions as label_transitions
from .worth import (
    AugmentationWorth as AugmentationWorth,
    augmentation_worth as augmentation_worth,
    effective_training_size as effective_training_size,
)
