"""What more than one instrument needs of a subject: computed once, when it is first asked for."""

from functools import cached_property

from leadline._network import Apply
from leadline.bayes.last_layers import LastLayer
from leadline.curvature.operators.operator import Operator
from leadline.curvature.spectra.lanczos import Eigenpairs
from leadline.networks.dissection.dissecting import Dissection
from leadline.robustness.certificates.lipschitz_certificates import LipschitzBracket
from leadline.stochastic.noise.streamed_gradients import StreamedNoise
from leadline.tangent.averaged_kernels import AveragedKernels

from .subject import Subject


class SharedQuantities:
    """One tangent kernel, one Lanczos run, one dissection: every property is computed at most once."""

    def __init__(self, subject: Subject):
        self.subject = subject

    @cached_property
    def dissection(self) -> Dissection:
        """The network taken apart: its layers, its chain of maps or why it is none (`dissection.Dissection`)."""
        from leadline.networks import dissection

        s = self.subject
        return dissection.dissect(s.apply, s.params, s.sample.inputs)

    @cached_property
    def hessian(self) -> Operator:
        """The Hessian of the mean loss on the sampled rows, as an operator."""
        from leadline import curvature

        s = self.subject
        return curvature.hessian(s.row_losses, s.params, *s.sample, batch=256)

    @cached_property
    def hessian_top(self) -> Eigenpairs:
        """The largest eigenpairs of `hessian` (`curvature.Eigenpairs`): about twice as many as outputs, 10 to 42."""
        import warnings

        from leadline.curvature.operators.dense_operator import dense_if_small

        h, wanted = dense_if_small(self.hessian), min(max(2 * self.subject.outputs + 2, 10), 42)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has not converged is marked, and its residual is known
            return h.top(min(wanted, h.size), max_steps=400, tolerance=1e-4, basis=max(2 * wanted + 20, 50))

    @cached_property
    def tangent_kernel(self) -> AveragedKernels:
        """`tangent.AveragedKernels` of the first 200 rows of the sample: now, and before training where known."""
        from leadline.tangent import averaged_ntk

        s, x, f = self.subject, self.subject.sample.inputs[:200], self._single_score
        here, start = (None if p is None else averaged_ntk(f, p, x) for p in (s.params, s.past.start))
        return AveragedKernels(here, start)

    @cached_property
    def last_layer(self) -> LastLayer | None:
        """The last linear layer or None; of the single score where two classes have one."""
        from leadline import bayes

        return bayes.find_last_layer(self._single_score, self.subject.params, self.subject.sample.inputs)

    @property
    def _single_score(self) -> Apply:
        """The network without the constant score that makes two of one, which has no gradient."""
        from .subject_making import TwoScores

        apply = self.subject.apply
        return apply.apply if isinstance(apply, TwoScores) else apply

    @cached_property
    def lipschitz(self) -> LipschitzBracket:
        """`robustness.LipschitzBracket`: the Lipschitz constant from below and, where the network is a chain, above."""
        from leadline.robustness import lipschitz_bracket

        s, found = self.subject, self.dissection
        return lipschitz_bracket(
            found.chain, s.apply, s.params, s.sample.inputs, key=s.key("lipschitz"), why=found.why_no_chain
        )

    @cached_property
    def noise(self) -> StreamedNoise:
        """The noise of single gradients on the sampled rows, as `stochastic.StreamedNoise`: tr C, ‖g‖², tr C/‖g‖²."""
        from leadline import stochastic

        s = self.subject
        return stochastic.streamed_noise(s.row_losses, s.params, *s.sample)
