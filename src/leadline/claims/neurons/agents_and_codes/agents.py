"""Agents: active sensing, search with a learned prior, the value of history, and the maze mouse."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.data.generators.mazes import DIRECTIONS, move_wall
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, model, reference, smaller
from leadline.neurons import agents
from leadline.neurons.agents import prior_search
from leadline.neurons.agents.decision import DecisionProblem, binary_channel, value_of_prior
from leadline.neurons.agents.maze import maze_walk
from leadline.neurons.agents.sensing import POLICIES
from leadline.presentation import figure

EPISODE, CHECKED = 120, 60  # steps of the episode that is drawn, and of its part that is enumerated


@model(sources=("penn",))
def active_sensing_agent(
    key,
    size: Int(6, 14) = 10,
    radius: Int(0, 2) = 1,
    reach: Int(1, 3) = 2,
    hit: Real(0.75, 1.0) = 0.9,
    false_alarm: Real(0.0, 0.25) = 0.1,
):
    r"""Bayes filter with active sensing.

    A Bayes filter that moves its own sensor: choosing the place where one reading is most informative finds a hidden
    object sooner than moving at random, and moving at random finds it sooner than staying put.

    $$p_{t+1}(x) \propto p_t(x)\, P(o_{t+1} \mid x, a_{t+1}), \quad a_{t+1} = \mathrm{arg\,max}_a I(O; X \mid a)$$

    Assumes: a uniform prior; readings independent given the object's cell.

    Check: The number of steps to a posterior of 0.95 is recorded over 200 episodes for each policy, with at most 2000
    steps per episode. Two rank tests compare the policies, at an overall level of 1%.
    """
    world = agents.SearchWorld(size, radius, hit, false_alarm, reach)
    keys = jax.random.split(key, 5)
    search = partial(agents.search_times, world, episodes=200, cap=2000)
    times = {policy: np.asarray(search(policy, key=k)) for policy, k in zip(POLICIES, keys, strict=False)}
    for sooner, later in (("information gain", "random"), ("random", "passive")):
        yield smaller(times[sooner], times[later], f"steps, {sooner} against {later}", confidence=1 - 0.01 / 2)
    shown = world.search("information gain", num_steps=EPISODE, key=keys[3])
    path, readings = np.asarray(shown.sensor), np.asarray(shown.reading)
    likelihood = np.zeros((size, size))
    for row, column in itertools.product(range(size), repeat=2):
        positive = np.where(np.abs(path - (row, column)).max(1) <= radius, hit, false_alarm)
        likelihood[row, column] = np.prod(np.where(readings, positive, 1 - positive)[:CHECKED])
    checked = shown.posterior[CHECKED - 1]
    yield close(checked, likelihood / likelihood.sum(), f"posterior of {CHECKED} readings, enumerated", atol=1e-10)
    yield close(np.asarray(shown.posterior).sum((1, 2)), 1.0, "sum of the posterior after each reading", atol=1e-10)
    certain = np.asarray(shown.posterior).max((1, 2)) >= 0.95
    steps = int(np.argmax(certain)) + 1 if certain.any() else EPISODE
    panels, cells, edge = [], np.arange(size), (-0.5, size - 0.5)
    for t in np.unique(np.linspace(0, steps - 1, 4).astype(int)):
        posterior, recent = np.asarray(shown.posterior[t]), path[max(0, t - 12) : t + 1]
        title = f"step {t + 1}: the likeliest cell (bluest) has {posterior.max():.2f}"
        drawn = {
            "regions": (cells, cells, np.sqrt(posterior)),
            "lines": {"sensor's last steps": (recent[:, 1], recent[:, 0])},
            "points": {"sensor": path[t, ::-1][None], "object": np.asarray(shown.target)[::-1][None]},
        }
        panels.append(figure.plane(title, "column", "row", domain=(edge, edge), **drawn))
    gain, random, passive = (float(np.median(times[p])) for p in ("information gain", "random", "passive"))
    still = f"{passive:.0f}" if passive < 2000 else "not within 2000"
    title = f"Median steps: {gain:.0f} by information gain, {random:.0f} at random, {still} at rest"
    yield figure.beside(title, *panels)


@claim(sources=("penn",))
def learned_prior_search(
    key,
    cells: Int(2, 400, log=True) = 100,
    exponent: Real(0.0, 3.0) = 1.0,
    history: Int(1, 100_000, log=True) = 300,
    searches: Int(1000, 20_000, log=True) = 4000,
):
    r"""Search in order of a learned prior.

    Looking into N cells in the order of a prior p takes Σ k p₍ₖ₎ looks on average instead of (N+1)/2. A wrong prior
    can cost more than none, and cells without mass are never opened.

    $$E[\text{looks}] = \sum_k k\, p_{\pi_q(k)}, \quad \sum_k k\, p_{(k)} \le \frac{N+1}{2}$$

    Assumes: one object; cells of equal belief are opened in random order.

    Check: The position of the object follows Zipf's law with the given exponent. Simulated searches are compared with
    the sum, by tests at an overall level of 1%.
    """
    keys = jax.random.split(key, 5)
    truth = prior_search.zipf_prior(cells, exponent)
    uniform = jnp.full(cells, 1 / cells)
    stream = np.asarray(jax.random.choice(keys[0], cells, (100_000,), p=truth))
    finds = np.bincount(stream[:history], minlength=cells)
    beliefs = {
        "true prior": truth,
        "no prior": uniform,
        "reversed prior": truth[::-1],
        f"learned from {history}": prior_search.learned_prior(finds, smoothing=1.0),
    }
    looks = {name: float(prior_search.expected_looks(truth, belief)) for name, belief in beliefs.items()}
    for (name, belief), k in zip(beliefs.items(), keys[1:], strict=True):
        found = prior_search.simulated_looks(truth, belief, searches=searches, key=k)
        deviation = float(prior_search.looks_deviation(truth, belief))
        confidence = 1 - 0.01 / len(beliefs)
        yield mean(found, looks[name], f"looks, {name}", confidence=confidence, deviation=deviation)
    half = (cells + 1) / 2
    yield close(looks["no prior"], half, "looks without a prior", rtol=1e-12)
    orders = list(looks.values())
    yield at_most(orders, looks["reversed prior"], "looks, any order against the reversed one", rtol=1e-12)
    yield at_least(orders, looks["true prior"], "looks, any order against the true one", rtol=1e-12)
    slower = at_least(looks["reversed prior"], half, "looks, reversed prior against none", strict=True)
    yield slower.given(exponent > 1e-6, "the object prefers some cells")
    priors = (prior_search.zipf_prior(100), prior_search.geometric_prior(100, 0.9), jnp.full(100, 0.01))
    exact = [prior_search.expected_looks(p) for p in priors]
    yield reference(exact, [19.28, 10.00, 50.5], "looks for N = 100: Zipf, geometric 0.9, uniform", digits=4)
    blind = prior_search.expected_looks(truth, prior_search.learned_prior(finds, smoothing=0.0))
    endless = at_most(1 / blind, 0.0, "1/looks without smoothing: they never end")
    yield endless.given((finds == 0).any(), "some cell was never seen")
    exponents = np.linspace(0, 3, 25)
    priors = jax.vmap(lambda e: prior_search.zipf_prior(cells, e))(exponents)
    sizes = np.unique(np.geomspace(1, 100_000, 17).astype(int))
    counted = np.stack([np.bincount(stream[:m], minlength=cells) for m in sizes])
    learned = jax.vmap(lambda c: prior_search.expected_looks(truth, prior_search.learned_prior(c)))(counted)
    lines = {
        "true prior": (exponents, jax.vmap(prior_search.expected_looks)(priors)),
        "no prior": (exponents, np.full(25, half)),
        "reversed prior": (exponents, jax.vmap(prior_search.expected_looks)(priors, priors[:, ::-1])),
    }
    title = "The more concentrated the prior, the more right and wrong orders differ"
    rules = {f"exponent {exponent:g}": ("x", exponent)}
    left = figure.curves(title, "Zipf exponent of the object's cell", "expected looks", lines=lines, rules=rules)
    ends, points = sizes[[0, -1]], {"learned, smoothed by 1": (sizes, learned)}
    lines = {"true prior": (ends, [looks["true prior"]] * 2), "no prior": (ends, [half, half])}
    title = "A prior learned from past finds approaches the true one"
    right = figure.curves(title, "past finds", "expected looks", log="x", points=points, lines=lines)
    saved, lost = 1 - looks["true prior"] / half, looks["reversed prior"] / half - 1
    title = f"A true prior saves {saved:.0%} of the looks; its reverse costs {lost:.0%} more than knowing nothing"
    yield figure.beside(title, left, right)


@claim(sources=("penn",))
def value_of_history(
    key,
    prior: Real(0.01, 0.99) = 0.85,
    accuracy: Real(0.5, 1.0) = 0.7,
    miss: Real(0.1, 10.0, log=True) = 1.0,
    false_alarm: Real(0.1, 10.0, log=True) = 1.0,
    rounds: Int(1000, 50_000, log=True) = 10_000,
):
    r"""The value of a true prior.

    With a partly hidden state even an unlimited planner gains from the true prior: its cost is at most that of
    planning with a uniform prior, strictly less if the best action differs, and equal when nothing is hidden.

    $$\sum_o \min_a \sum_s \pi(s) P(o|s) c(a,s) \le \sum_o \sum_s \pi(s) P(o|s) c(a_u(o),s)$$

    Assumes: two states and two actions; the right action costs nothing.

    Check: `prior` is P(state 0). All four decision rules are written out and rounds are simulated.
    """
    cost = jnp.array([[0.0, miss], [false_alarm, 0.0]])  # action 0 is right in state 0

    def problem(accuracy):
        return DecisionProblem(jnp.array([prior, 1 - prior]), binary_channel(accuracy), cost)

    here = problem(accuracy)
    informed, ignorant = here.best_actions(), here.best_actions(jnp.array([0.5, 0.5]))
    gap = float(value_of_prior(here))
    every = [
        prior * (accuracy * (a * false_alarm) + (1 - accuracy) * (b * false_alarm))
        + (1 - prior) * ((1 - accuracy) * ((1 - a) * miss) + accuracy * ((1 - b) * miss))
        for a, b in itertools.product((0, 1), repeat=2)  # a after observing 0, b after observing 1
    ]
    best = min(every)
    rule = every[2 * int(ignorant[0]) + int(ignorant[1])]
    yield close(here.expected_cost(informed), best, "cost with the true prior, against all rules", rtol=1e-10)
    yield close(gap, rule - best, "value of the prior, against all rules", atol=1e-10)
    grid = jnp.linspace(0.5, 1.0, 101)
    gaps = jax.vmap(lambda a: value_of_prior(problem(a)))(grid)
    yield at_least(gaps, 0.0, "value of the prior over all accuracies", atol=1e-12)
    yield close(gaps[-1], 0.0, "value of the prior when all is seen", atol=1e-12)
    differ = at_least(gap, 0.0, "value of the prior where the actions differ", strict=True)
    yield differ.given(rule > best * (1 + 1e-9), "the best action differs from the uniform planner's")
    lead = max(max(prior, 1 - prior) - accuracy, 0.0)
    equal = close(gap, lead, "value of the prior with equal costs: max(π, 1−π) − a if positive", atol=1e-10)
    unit = miss == 1 and false_alarm == 1 and accuracy > 0.5
    yield equal.given(unit, "both errors cost 1 and the observation tells something")
    draw = jax.random.split(key)
    state = (jax.random.uniform(draw[0], (rounds,)) >= prior).astype(int)
    seen = jnp.where(jax.random.uniform(draw[1], (rounds,)) < accuracy, state, 1 - state)
    paid = cost[ignorant[seen], state] - cost[informed[seen], state]
    extra = mean(paid, gap, "simulated extra cost of the uniform planner", confidence=0.99)
    yield extra.given(paid.std() > 0, "the two planners differ in some round")
    tested = np.linspace(0.55, 1.0, 10)
    chosen = jax.vmap(lambda a: (problem(a).best_actions(jnp.array([0.5, 0.5])), problem(a).best_actions()))(tested)
    uniform = jax.random.uniform(draw[1], (rounds,))
    simulated = []
    for a, plain, wise in zip(tested, *chosen, strict=True):
        seen = jnp.where(uniform < a, state, 1 - state)
        extra = np.asarray(cost[plain[seen], state] - cost[wise[seen], state])
        half = 2.576 * extra.std() / np.sqrt(rounds)
        simulated.append((extra.mean(), extra.mean() - half, extra.mean() + half))
    title = f"Knowing that state 0 has probability {prior:g} is worth {gap:.3g} at accuracy {accuracy:g}, nothing at 1"
    lines, rules = {"exact": (grid[1:], gaps[1:])}, {f"accuracy {accuracy:g}": ("x", accuracy)}
    points = {f"mean of {rounds} rounds, 99% interval": (tested, *np.transpose(simulated))}
    axes = "accuracy of the observation", "extra cost of a uniform prior"
    yield figure.curves(title, *axes, lines=lines, points=points, rules=rules)


@model(sources=("penn",))
def maze_mouse(key, rows: Int(2, 12) = 8, columns: Int(2, 12) = 8, loops: Real(0.0, 1.0) = 0.1, mazes: Int(1, 40) = 20):
    r"""Shannon's maze-solving mouse Theseus.

    Shannon's Theseus remembers the last exit taken from every cell: the first run explores, the second follows a path
    without loops, and a moved wall makes it relearn only where it is led astray.

    $$\text{moves}_2 = |\text{loop erasure of run 1}| \le \text{moves}_1 \le 2\,|E|\,D$$

    Assumes: there is a path from start to goal.
    """
    start, goal = (rows - 1, 0), (0, columns - 1)
    blank = jnp.zeros((rows, columns), int)
    run_all = jax.vmap(lambda p, m: agents.maze_run(p, m, start=jnp.array(start), goal=jnp.array(goal)))
    built = [data.random_maze(rows, columns, loops=loops, key=k) for k in jax.random.split(key, mazes)]
    passages = np.stack([maze.passages for maze in built])
    first = run_all(passages, jnp.stack([blank] * mazes))
    second = run_all(passages, first.memory)
    longest = int(first.moves.max())
    walks = np.asarray(jax.vmap(lambda p: maze_walk(p, blank, start=start, moves=longest))(passages))
    erased = [agents.loop_erased(w[: int(m) + 1]) for w, m in zip(walks, first.moves, strict=True)]
    lengths = [len(path) - 1 for path in erased]
    shortest = [maze.distances(start)[goal] for maze in built]
    diameters = [max(maze.distances(divmod(c, columns)).max() for c in range(rows * columns)) for maze in built]
    rotor = [2 * maze.passage_count() * d for maze, d in zip(built, diameters, strict=True)]
    yield exactly((~first.reached).sum(), 0, "first runs that do not arrive")
    yield at_most(first.moves, rotor, "moves of the first run, against 2 passages × diameter")
    yield exactly(second.moves, lengths, "moves of the second run, against the first without loops")
    yield exactly(second.wall_hits, 0, "walls hit in the second run")
    yield at_most(second.moves, first.moves, "moves of the second run, against the first")
    yield at_least(second.moves, shortest, "moves of the second run, against a shortest path")
    # One wall moves: the middle passage of the learned path closes, another opens if the maze falls apart.
    changed = []
    for maze, path, k in zip(built, erased, jax.random.split(jax.random.fold_in(key, 1), mazes), strict=True):
        cell, after = path[(len(path) - 1) // 2], path[(len(path) - 1) // 2 + 1]
        direction = int(np.nonzero((np.subtract(after, cell) == DIRECTIONS).all(1))[0][0])
        changed.append(move_wall(maze, cell, direction, key=k))
    solvable = np.array([np.isfinite(maze.distances(start)[goal]) for maze in changed])
    again = np.stack([maze.passages for maze in changed])
    third = run_all(again, second.memory)
    fourth = run_all(again, third.memory)
    yield exactly(third.reached, solvable, "third run, after the wall moved, arrives if there is a path")
    kept = np.asarray(third.memory == second.memory)
    blocked = ~np.take_along_axis(again, np.asarray(second.memory)[..., None], 3)[..., 0]
    affected = (np.asarray(third.visits) > 1) | (blocked & (np.asarray(third.visits) > 0))
    yield exactly((~kept & ~affected).sum(), 0, "exits relearned in cells passed once and not blocked")
    yield exactly(fourth.wall_hits[solvable], 0, "walls hit in the fourth run")
    yield at_most(fourth.moves[solvable], third.moves[solvable], "moves of the fourth run, against the third")
    lost = agents.maze_run(np.zeros((1, 3, 4), bool), jnp.zeros((1, 3), int), start=(0, 0), goal=(0, 2), cap=40)
    yield exactly([lost.reached, lost.moves], [0, 40], "arrival and moves of a walled-in mouse with a cap of 40")
    moves, (memory, visits) = int(first.moves[0]), (np.asarray(part[0]) for part in (first.memory, first.visits))
    arrows = [(c - 0.32, -r - 0.28, "↑→↓←"[memory[r, c]]) for r, c in np.argwhere(visits > 0) if (r, c) != goal]
    title = f"Run 1 explores: {moves} moves"
    left = _drawn(title, built[0], {"run 1": walks[0][: moves + 1]}, start, goal)
    title = f"Run 2 follows the stored exits: {lengths[0]} moves"
    right = _drawn(title, built[0], {"run 2": np.array(erased[0])}, start, goal, arrows)
    title = (
        f"First run {moves} moves, second {lengths[0]}; a moved wall changes {(~kept).sum() / mazes:.1f} stored exits"
    )
    yield figure.beside(title, left, right)


def _drawn(title, maze, paths, start, goal, arrows=()):
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
    drawn = {
        "regions": (*centre, picture),
        "lines": {name: (path[:, 1], -path[:, 0].astype(float)) for name, path in paths.items()},
        "points": {"start": [[start[1], -start[0]]], "goal": [[goal[1], -goal[0]]]},
    }
    return figure.plane(title, "", "", axes=False, labels=arrows, **drawn)
