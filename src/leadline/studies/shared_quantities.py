"""What more than one instrument needs of a subject: computed once, when it is first asked for."""

from functools import cached_property

from leadline.bayes.last_layers import LastLayer
from leadline.curvature.operators.dense_operator import DenseOperator
from leadline.curvature.operators.operator import Operator
from leadline.curvature.sharpness.sharpness_measures import ScaledHessian
from leadline.curvature.spectra.lanczos import Eigenpairs
from leadline.frameworks.network import Apply
from leadline.networks.dissection.dissecting import Dissection
from leadline.robustness.certificates.lipschitz_certificates import LipschitzBracket
from leadline.stochastic.noise.streamed_gradients import StreamedNoise
from leadline.tangent.averaged_kernels import AveragedKernels

from .budget import PassCosts
from .measurements.mode_measures import ModalSubject, modal_subject
from .measurements.recurrent.memory_measures import Loops, loops_of
from .subject import Rows, Subject

LANCZOS_PRODUCTS = 64  # of a short run
FEWEST_PRODUCTS = 16
ONE_RUN = 0.25  # of the time of curvature: there are three runs, for the largest, the least and the scaled eigenvalues
BYTES_A_SECOND = 5e9  # that a core reads from memory
FEWEST_ROWS = 64  # on which derivatives are taken, however dear they are


class SharedQuantities:
    """One tangent kernel, one Lanczos run, one dissection: every property is computed at most once."""

    def __init__(self, subject: Subject):
        self.subject = subject

    @cached_property
    def pass_costs(self) -> PassCosts:
        """Seconds and bytes per row of a forward pass and of a gradient, measured once."""
        from .measurements.pass_costs import pass_costs

        return pass_costs(self.subject)

    @cached_property
    def modes(self) -> ModalSubject:
        """The network with its modes, or why they cannot be read."""
        return modal_subject(self.subject)

    @cached_property
    def loops(self) -> Loops:
        """The recurrences of the network, kept whole, or why none can be measured."""
        return loops_of(self.subject)

    @cached_property
    def dissection(self) -> Dissection:
        """The network taken apart: its layers, its chain of maps or why it is none (`dissection.Dissection`)."""
        from leadline.networks import dissection

        s = self.subject
        return dissection.dissect(s.apply, s.params, s.sample.inputs)

    @property
    def curved_rows(self) -> Rows:
        """The training rows on which derivatives are taken: the sample, or as many as a Lanczos run can afford.

        It asks the budget each time, so that every card that rests on these rows says how many they are.
        """
        s = self.subject
        seconds = LANCZOS_PRODUCTS * s.budget.costs.product
        return s.train.first(s.budget.rows("curvature", seconds, s.sample.count, part=ONE_RUN, least=FEWEST_ROWS))

    @cached_property
    def hessian(self) -> Operator:
        """The Hessian of the mean loss on `curved_rows`, as an operator."""
        from leadline import curvature

        s = self.subject
        return curvature.hessian(s.row_losses, s.params, *self.curved_rows, batch=256)

    @property
    def lanczos(self) -> tuple[int, int, int]:
        """Eigenpairs wanted, vectors held and products allowed in a Lanczos run on `hessian`; asked for each time.

        A product costs that of the rows, and four passes over the vectors held, to which it is made orthogonal twice.
        """
        s = self.subject
        wanted = min(max(2 * s.outputs + 2, 10), 42, s.size)
        most = max(2 * wanted + 20, 50)
        vector = 1.5 * s.size * s.dtype.itemsize  # the basis, and a part of it again when vectors are made of it
        held = s.budget.count("curvature", "vectors of Lanczos' method", most, bytes=vector, part=0.5, least=8)
        if held < most:
            wanted = max(held // 4, 1)
        passes = 4 * held * s.size * s.dtype.itemsize / BYTES_A_SECOND
        seconds = s.budget.costs.product * self.curved_rows.count + passes
        steps = s.budget.count(
            "curvature", "products of Lanczos' method", 400, seconds=seconds, part=ONE_RUN, least=FEWEST_PRODUCTS
        )
        return wanted, held, steps

    @cached_property
    def hessian_top(self) -> Eigenpairs:
        """The largest eigenpairs of `hessian` (`curvature.Eigenpairs`): about twice as many as outputs, 10 to 42."""
        import warnings

        from leadline import curvature

        wanted, held, steps = self.lanczos
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has not converged is marked, and its residual is known
            return curvature.top(self.iterated_hessian, wanted, max_steps=steps, tolerance=1e-4, basis=held)

    @cached_property
    def iterated_hessian(self) -> Operator | DenseOperator | ScaledHessian:
        """`hessian` for Lanczos' method: dense where it is small, else T H T with T = 1.

        So one compiled program serves this and the Hessian that is scaled by the weights.
        """
        import jax.numpy as jnp

        from leadline.curvature.operators.dense_operator import dense_if_small

        h = dense_if_small(self.hessian)
        return h if h is not self.hessian else ScaledHessian(h, jnp.ones(h.size, h.dtype))

    @cached_property
    def tangent_kernel(self) -> AveragedKernels:
        """`tangent.AveragedKernels` of the first rows of the sample, 200 or as many as the budget allows: now, and
        before training where known."""
        from leadline.tangent import averaged_ntk

        s, f = self.subject, self._single_score
        times = s.outputs * (1 if s.past.start is None else 2)
        rows = s.budget.rows(
            "tangent",
            times * s.budget.costs.gradient,
            min(200, s.sample.count),
            part=0.4,
            least=40,
            what="tangent kernel's rows",
        )
        x, room = s.sample.inputs[:rows], s.budget.kernel_room
        here = averaged_ntk(f, s.params, x, budget=room)
        return AveragedKernels(here, None if s.past.start is None else averaged_ntk(f, s.past.start, x, budget=room))

    @cached_property
    def last_layer(self) -> LastLayer | None:
        """The last linear layer or None; of the single score where two classes have one."""
        from leadline import bayes

        s = self.subject
        shifted = s.loss == "cross-entropy" and s.outputs > 1
        return bayes.find_last_layer(self._single_score, s.params, s.sample.inputs, up_to_constant=shifted)

    @property
    def _single_score(self) -> Apply:
        """The network without the constant score that makes two of one, which has no gradient."""
        from .subject_making import TwoScores

        apply = self.subject.apply
        return apply.apply if isinstance(apply, TwoScores) else apply

    @cached_property
    def lipschitz(self) -> LipschitzBracket | None:
        """`robustness.LipschitzBracket`: the Lipschitz constant from below and, where the network is a chain, above.

        None where inputs are integers, by which nothing is differentiated.
        """
        from leadline.robustness import lipschitz_bracket
        from leadline.robustness.certificates.input_stretches import POINTS, stretch_passes

        s, found = self.subject, self.dissection
        if s.integer_inputs:
            return None
        seconds = stretch_passes(s.outputs) * s.budget.costs.gradient
        points = s.budget.count(
            "anatomy", "points whose stretch is sought", POINTS, seconds=seconds, part=0.7, least=16
        )
        return lipschitz_bracket(
            found.chain,
            s.apply,
            s.params,
            s.sample.inputs,
            key=s.key("lipschitz"),
            why=found.why_no_chain,
            points=points,
        )

    @cached_property
    def noise(self) -> StreamedNoise:
        """The noise of single gradients on `curved_rows`, as `stochastic.StreamedNoise`: tr C, ‖g‖², tr C/‖g‖²."""
        from leadline import stochastic

        s = self.subject
        return stochastic.streamed_noise(s.row_losses, s.params, *self.curved_rows)
