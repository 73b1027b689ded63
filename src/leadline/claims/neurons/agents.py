"""Agents: active sensing, search with a learned prior, the value of history, and the maze mouse."""

import itertools
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import agents, data
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, model, smaller

EPISODE, CHECKED = 120, 60  # steps of the episode that is drawn, and of its part that is enumerated


@model(
    "active-sensing-agent",
    says="A Bayes filter that moves its own sensor: choosing where one reading tells most finds a hidden object "
    "sooner than moving at random, and that sooner than staying put.",
    formula=r"p_{t+1}(x) \propto p_t(x)\, P(o_{t+1} \mid x, a_{t+1}), \quad "
    r"a_{t+1} = \mathrm{arg\,max}_a I(O; X \mid a)",
    sources=("penn",),
    assumes=("a uniform prior", "readings independent given the object's cell"),
    shows=("agents.SearchWorld", "agents.search_times", "agents.Search"),
)
def active_sensing_agent(
    key,
    size: Annotated[int, Range(6, 14)] = 10,
    radius: Annotated[int, Range(0, 2)] = 1,
    reach: Annotated[int, Range(1, 3)] = 2,
    hit: Annotated[float, Range(0.75, 1.0)] = 0.9,
    false_alarm: Annotated[float, Range(0.0, 0.25)] = 0.1,
):
    """Steps to a posterior of 0.95, 200 episodes a policy, at most 2000 steps each; two rank tests at 1% in all."""
    world = agents.SearchWorld(size, radius, hit, false_alarm, reach)
    keys = jax.random.split(key, 5)
    times = {
        policy: np.asarray(agents.search_times(world, policy, episodes=200, cap=2000, key=k))
        for policy, k in zip(agents.POLICIES, keys, strict=False)
    }
    for sooner, later in (("information gain", "random"), ("random", "passive")):
        yield smaller(times[sooner], times[later], f"steps, {sooner} against {later}", confidence=1 - 0.01 / 2)

    shown = world.search("information gain", steps=EPISODE, key=keys[3])
    path, readings = np.asarray(shown.sensor), np.asarray(shown.reading)
    likelihood = np.zeros((size, size))
    for row, column in itertools.product(range(size), repeat=2):
        positive = np.where(np.abs(path - (row, column)).max(1) <= radius, hit, false_alarm)
        likelihood[row, column] = np.prod(np.where(readings, positive, 1 - positive)[:CHECKED])
    checked = shown.posterior[CHECKED - 1]
    yield close(checked, likelihood / likelihood.sum(), f"posterior of {CHECKED} readings, enumerated", atol=1e-10)
    yield close(np.asarray(shown.posterior).sum((1, 2)), 1.0, "sum of the posterior", atol=1e-10)

    certain = np.asarray(shown.posterior).max((1, 2)) >= 0.95
    steps = int(np.argmax(certain)) + 1 if certain.any() else EPISODE
    panels = []
    for t in np.unique(np.linspace(0, steps - 1, 4).astype(int)):
        posterior = np.asarray(shown.posterior[t])
        recent = path[max(0, t - 12) : t + 1]
        cells = np.arange(size)
        panels.append(
            figure.plane(
                f"step {t + 1}: the likeliest cell (bluest) has {posterior.max():.2f}",
                x="column", y="row",
                regions=(cells, cells, np.sqrt(posterior)),
                lines={"sensor's last steps": (recent[:, 1], recent[:, 0])},
                points={"sensor": path[t, ::-1][None], "object": np.asarray(shown.target)[::-1][None]},
                domain=((-0.5, size - 0.5), (-0.5, size - 0.5)),
            )
        )  # fmt: skip
    medians = {policy: float(np.median(t)) for policy, t in times.items()}
    yield figure.beside(
        f"Half of the searches end within {medians['information gain']:.0f} steps by information gain, "
        f"{medians['random']:.0f} at random and {_capped(medians['passive'], 2000)} when staying put",
        *panels,
    )


def _capped(value: float, cap: int) -> str:
    return f"not within {cap}" if value >= cap else f"{value:.0f}"


@claim(
    "learned-prior-search",
    says="Looking into N cells in order of a prior p takes Σ k p₍ₖ₎ looks on average instead of (N+1)/2; a wrong prior "
    "can cost more than none, and cells without mass are never opened.",
    formula=r"E[\text{looks}] = \sum_k k\, p_{\pi_q(k)}, \quad \sum_k k\, p_{(k)} \le \frac{N+1}{2}",
    sources=("penn",),
    assumes=("one object", "cells of equal belief are opened in random order"),
)
def learned_prior_search(
    key,
    cells: Annotated[int, Range(2, 400, log=True)] = 100,
    exponent: Annotated[float, Range(0.0, 3.0)] = 1.0,
    history: Annotated[int, Range(1, 100_000, log=True)] = 300,
    searches: Annotated[int, Range(1000, 20_000, log=True)] = 4000,
):
    """The object follows Zipf's law with this exponent; simulated searches against the sum, tests at 1% in all."""
    keys = jax.random.split(key, 5)
    truth = agents.zipf_prior(cells, exponent)
    uniform = jnp.full(cells, 1 / cells)
    stream = np.asarray(jax.random.choice(keys[0], cells, (100_000,), p=truth))
    finds = np.bincount(stream[:history], minlength=cells)
    beliefs = {
        "true prior": truth,
        "no prior": uniform,
        "reversed prior": truth[::-1],
        f"learned from {history}": agents.learned_prior(finds, smoothing=1.0),
    }
    looks = {name: float(agents.expected_looks(truth, belief)) for name, belief in beliefs.items()}
    for (name, belief), k in zip(beliefs.items(), keys[1:], strict=True):
        found = agents.simulated_looks(truth, belief, searches=searches, key=k)
        deviation = float(agents.looks_deviation(truth, belief))
        confidence = 1 - 0.01 / len(beliefs)
        yield mean(found, looks[name], f"looks, {name}", confidence=confidence, deviation=deviation)
    half = (cells + 1) / 2
    yield close(looks["no prior"], half, "looks without a prior", rtol=1e-12)
    orders = list(looks.values())
    yield at_most(orders, looks["reversed prior"], "looks, any order against the reversed one", rtol=1e-12)
    yield at_least(orders, looks["true prior"], "looks, any order against the true one", rtol=1e-12)
    yield at_least(looks["reversed prior"], half, "reversed prior against none", strict=True).given(
        exponent > 1e-6, "the object prefers some cells"
    )
    exact = [
        float(agents.expected_looks(p))
        for p in (agents.zipf_prior(100), agents.geometric_prior(100, 0.9), jnp.full(100, 0.01))
    ]
    yield close(exact, [19.28, 10.00, 50.5], "looks for N = 100: Zipf, geometric 0.9, uniform", atol=5e-3)
    blind = agents.learned_prior(finds, smoothing=0.0)
    endless = bool(np.isinf(agents.expected_looks(truth, blind)))
    yield exactly(endless, True, "looks without smoothing are infinite").given(
        bool((finds == 0).any()), "some cell was never seen"
    )

    exponents = np.linspace(0, 3, 25)
    laws = jax.vmap(lambda e: agents.zipf_prior(cells, e))(exponents)
    sizes = np.unique(np.geomspace(1, 100_000, 17).astype(int))
    counted = np.stack([np.bincount(stream[:m], minlength=cells) for m in sizes])
    learned = jax.vmap(lambda c: agents.expected_looks(truth, agents.learned_prior(c)))(counted)
    yield figure.beside(
        f"A true prior saves {1 - looks['true prior'] / half:.0%} of the looks; "
        f"its reverse costs {looks['reversed prior'] / half - 1:.0%} more than knowing nothing",
        figure.curves(
            "The more concentrated the prior, the more right and wrong orders differ",
            x="Zipf exponent of the object's law", y="expected looks",
            lines={
                "true prior": (exponents, jax.vmap(agents.expected_looks)(laws)),
                "no prior": (exponents, np.full(25, half)),
                "reversed prior": (exponents, jax.vmap(agents.expected_looks)(laws, laws[:, ::-1])),
            },
            rules={f"exponent {exponent:g}": ("x", exponent)},
        ),
        figure.curves(
            "A prior learned from past finds approaches the true one",
            x="past finds", y="expected looks", log="x",
            points={"learned, smoothed by 1": (sizes, learned)},
            lines={
                "true prior": (sizes, np.full(len(sizes), looks["true prior"])),
                "no prior": (sizes, np.full(len(sizes), half)),
            },
        ),
    )  # fmt: skip


@claim(
    "value-of-history",
    says="With a partly hidden state an unlimited planner still gains from the true prior: its cost is at most that of "
    "planning with a uniform prior, less if the best action differs, and equal when nothing is hidden.",
    formula=r"\sum_o \min_a \sum_s \pi(s) P(o|s) c(a,s) \le \sum_o \sum_s \pi(s) P(o|s) c(a_u(o),s)",
    sources=("penn",),
    assumes=("two states, two actions, no cost for the right action",),
)
def value_of_history(
    key,
    prior: Annotated[float, Range(0.01, 0.99)] = 0.85,
    accuracy: Annotated[float, Range(0.5, 1.0)] = 0.7,
    miss: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    false_alarm: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    rounds: Annotated[int, Range(1000, 50_000, log=True)] = 10_000,
):
    """`prior` is P(state 0). The library's rule against all four rules written out, and against simulated rounds."""
    cost = jnp.array([[0.0, miss], [false_alarm, 0.0]])  # action 0 is right in state 0

    def problem(accuracy):
        return agents.DecisionProblem(jnp.array([prior, 1 - prior]), agents.binary_channel(accuracy), cost)

    here = problem(accuracy)
    informed, ignorant = here.best_actions(), here.best_actions(jnp.array([0.5, 0.5]))
    gap = float(agents.value_of_prior(here))
    every = [
        prior * (accuracy * (a * false_alarm) + (1 - accuracy) * (b * false_alarm))
        + (1 - prior) * ((1 - accuracy) * ((1 - a) * miss) + accuracy * ((1 - b) * miss))
        for a, b in itertools.product((0, 1), repeat=2)  # a after observing 0, b after observing 1
    ]
    best = min(every)
    rule = every[2 * int(ignorant[0]) + int(ignorant[1])]
    yield close(float(here.expected_cost(informed)), best, "cost with the true prior, against all rules", rtol=1e-10)
    yield close(gap, rule - best, "value of the prior, against all rules", atol=1e-10)
    grid = jnp.linspace(0.5, 1.0, 101)
    gaps = jax.vmap(lambda a: agents.value_of_prior(problem(a)))(grid)
    yield at_least(gaps, 0.0, "value of the prior over all accuracies", atol=1e-12)
    yield close(gaps[-1], 0.0, "value of the prior when all is seen", atol=1e-12)
    yield at_least(gap, 0.0, "value where the actions differ", strict=True).given(
        rule > best * (1 + 1e-9), "the best action differs from the uniform planner's"
    )
    lead = max(prior, 1 - prior) - accuracy
    yield close(gap, max(lead, 0.0), "value with equal costs: max(π, 1−π) − a if positive", atol=1e-10).given(
        miss == 1 and false_alarm == 1 and accuracy > 0.5, "both errors cost 1 and the observation tells something"
    )
    draw = jax.random.split(key)
    state = (jax.random.uniform(draw[0], (rounds,)) >= prior).astype(int)
    seen = jnp.where(jax.random.uniform(draw[1], (rounds,)) < accuracy, state, 1 - state)
    paid = cost[ignorant[seen], state] - cost[informed[seen], state]
    yield mean(paid, gap, "simulated extra cost of the uniform planner", confidence=0.99).given(
        bool(paid.std() > 0), "the two planners differ in some round"
    )
    tested = np.linspace(0.55, 1.0, 10)
    chosen = jax.vmap(lambda a: (problem(a).best_actions(jnp.array([0.5, 0.5])), problem(a).best_actions()))(tested)
    uniform = jax.random.uniform(draw[1], (rounds,))
    simulated = []
    for a, plain, wise in zip(tested, *chosen, strict=True):
        seen = jnp.where(uniform < a, state, 1 - state)
        extra = np.asarray(cost[plain[seen], state] - cost[wise[seen], state])
        half = 2.576 * extra.std() / np.sqrt(rounds)
        simulated.append((extra.mean(), extra.mean() - half, extra.mean() + half))
    yield figure.curves(
        f"Knowing that state 0 has probability {prior:g} is worth {gap:.3g} at accuracy {accuracy:g}, "
        "and nothing once the observation tells all",
        x="accuracy of the observation", y="extra cost of a uniform prior",
        lines={"exact": (grid[1:], gaps[1:])},  # at 0.5 a uniform planner with equal costs is indifferent
        points={f"mean of {rounds} rounds, 99% interval": (tested, *np.transpose(simulated))},
        rules={f"accuracy {accuracy:g}": ("x", accuracy)},
    )  # fmt: skip


@model(
    "maze-mouse",
    says="Shannon's Theseus remembers the last exit from every cell: the first run explores, the second follows a path "
    "without loops, and a moved wall makes it relearn only where it is led astray.",
    formula=r"\text{moves}_2 = |\text{loop erasure of run 1}| \le \text{moves}_1 \le 2\,|E|\,D",
    sources=("penn",),
    assumes=("there is a path from start to goal",),
    shows=("agents.maze_run", "agents.maze_walk", "agents.stored_path", "agents.loop_erased", "data.random_maze",
           "data.move_wall"),
)  # fmt: skip
def maze_mouse(
    key,
    rows: Annotated[int, Range(2, 12)] = 8,
    columns: Annotated[int, Range(2, 12)] = 8,
    loops: Annotated[float, Range(0.0, 1.0)] = 0.1,
    mazes: Annotated[int, Range(1, 40)] = 20,
):
    """Random connected mazes; the first run is recorded and its loops cut out by hand, to foretell the second."""
    start, goal = (rows - 1, 0), (0, columns - 1)
    blank = jnp.zeros((rows, columns), int)
    run_all = jax.vmap(lambda p, m: agents.maze_run(p, m, start=jnp.array(start), goal=jnp.array(goal)))
    built = [data.random_maze(rows, columns, loops=loops, key=k) for k in jax.random.split(key, mazes)]
    passages = np.stack([maze.passages for maze in built])
    first = run_all(passages, jnp.stack([blank] * mazes))
    second = run_all(passages, first.memory)
    longest = int(first.moves.max())
    walks = np.asarray(jax.vmap(lambda p: agents.maze_walk(p, blank, start=start, moves=longest))(passages))
    erased = [agents.loop_erased(w[: int(m) + 1]) for w, m in zip(walks, first.moves, strict=True)]
    lengths = [len(path) - 1 for path in erased]
    shortest = [maze.distances(start)[goal] for maze in built]
    diameters = [max(maze.distances(divmod(c, columns)).max() for c in range(rows * columns)) for maze in built]
    rotor = [2 * maze.passage_count() * d for maze, d in zip(built, diameters, strict=True)]
    yield exactly(first.reached, np.ones(mazes, bool), "first run arrives")
    yield at_most(first.moves, rotor, "moves of the first run, against 2 passages × diameter")
    yield exactly(second.moves, lengths, "moves of the second run, against the first without loops")
    yield exactly(second.wall_hits, np.zeros(mazes, int), "walls hit in the second run")
    yield at_most(second.moves, first.moves, "moves of the second run, against the first")
    yield at_least(second.moves, shortest, "moves of the second run, against a shortest path")

    # One wall moves: the middle passage of the learned path closes, another opens if the maze falls apart.
    changed = []
    for maze, path, k in zip(built, erased, jax.random.split(jax.random.fold_in(key, 1), mazes), strict=True):
        cell, after = path[(len(path) - 1) // 2], path[(len(path) - 1) // 2 + 1]
        direction = int(np.nonzero((np.subtract(after, cell) == data.DIRECTIONS).all(1))[0][0])
        changed.append(data.move_wall(maze, cell, direction, key=k))
    solvable = np.array([np.isfinite(maze.distances(start)[goal]) for maze in changed])
    again = np.stack([maze.passages for maze in changed])
    third = run_all(again, second.memory)
    fourth = run_all(again, third.memory)
    yield exactly(third.reached, solvable, "third run, after the wall moved, arrives if there is a path")
    kept = np.asarray(third.memory == second.memory)
    blocked = ~np.take_along_axis(again, np.asarray(second.memory)[..., None], 3)[..., 0]
    affected = (np.asarray(third.visits) > 1) | (blocked & (np.asarray(third.visits) > 0))
    yield exactly(int((~kept & ~affected).sum()), 0, "exits relearned in cells passed once and not blocked")
    yield exactly(fourth.wall_hits[solvable], np.zeros(int(solvable.sum()), int), "walls hit in the fourth run")
    yield at_most(fourth.moves[solvable], third.moves[solvable], "moves of the fourth run, against the third")
    cut = np.zeros((1, 3, 4), bool)
    lost = agents.maze_run(cut, jnp.zeros((1, 3), int), start=(0, 0), goal=(0, 2), cap=40)
    yield exactly([bool(lost.reached), int(lost.moves)], [False, 40], "a walled-in mouse gives up at its cap of 40")

    relearned = float((~kept).sum() / mazes)
    yield figure.beside(
        f"First run {int(first.moves[0])} moves, second {lengths[0]}; a moved wall changes "
        f"{relearned:.1f} of {rows * columns} stored exits on average",
        _drawn(f"Run 1 explores: {int(first.moves[0])} moves", built[0], {"run 1": walks[0][: int(first.moves[0]) + 1]},
               start, goal),
        _drawn(f"Run 2 follows the stored exits: {lengths[0]} moves", built[0], {"run 2": np.array(erased[0])}, start,
               goal, memory=np.asarray(first.memory[0]), visits=np.asarray(first.visits[0])),
    )  # fmt: skip


def _drawn(title, maze, paths, start, goal, memory=None, visits=None):
    """A maze seen from above, with north up: cells as points, walls between them, paths as lines."""
    rows, columns = maze.passages.shape[:2]
    sub = 5  # picture cells for each maze cell, the last of which is wall or passage
    picture = np.ones((rows * sub + 1, columns * sub + 1))
    picture[::sub, :] = picture[:, ::sub] = 0
    for row, column in itertools.product(range(rows), range(columns)):
        if maze.passages[row, column, 1]:
            picture[row * sub + 1 : row * sub + sub, (column + 1) * sub] = 1
        if maze.passages[row, column, 2]:
            picture[(row + 1) * sub, column * sub + 1 : column * sub + sub] = 1
    centre = (np.arange(picture.shape[1]) - sub / 2) / sub, (sub / 2 - np.arange(picture.shape[0])) / sub
    arrows = []
    if memory is not None:
        signs = "↑→↓←"
        arrows = [
            (c - 0.32, -r - 0.28, signs[memory[r, c]]) for r, c in np.argwhere(visits > 0).tolist() if (r, c) != goal
        ]
    return figure.plane(
        title,
        x="", y="", axes=False,
        regions=(centre[0], centre[1], picture),
        lines={name: (path[:, 1], -path[:, 0].astype(float)) for name, path in paths.items()},
        points={"start": [[start[1], -start[0]]], "goal": [[goal[1], -goal[0]]]},
        labels=arrows,
    )  # fmt: skip
