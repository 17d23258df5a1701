"""Readable twins of the compiled kernels of the robots' control problem."""

import numpy as np


def step_rates(robots, load):
    """Probabilities a step of a departure and of one active robot's arrival."""
    rate = load * robots + 1.0
    return 1.0 / rate, load / rate


def state_costs(robots, buffer, empty, full, active=0.0):
    """Cost a step of the post-decision states, (N + 1, K + 1)."""
    r = np.arange(robots + 1)[:, None]
    q = np.arange(buffer + 1)[None, :]
    return active * r + empty * (q == 0) + full * r * (q == buffer)


def bellman(bias, robots, buffer, load, empty, full):
    """T g of csrc/robot_sweep.h, one state at a time."""
    depart, arrive = step_rates(robots, load)
    cost = state_costs(robots, buffer, empty, full)
    out = np.full_like(bias, np.inf)
    for r in range(robots + 1):
        for q in range(buffer + 1):
            if (q, r) == (0, 0):
                continue
            value, stay = cost[r, q], 1.0
            if q > 0:
                value += depart * min(bias[r, q - 1], bias[min(r + 1, robots), q - 1])
                stay -= depart
            if r > 0:
                x = min(q + 1, buffer)
                value += arrive * r * min(bias[r - 1, x], bias[r, x])
                stay -= arrive * r
            out[r, q] = value + stay * bias[r, q]
    return out


def policy_chain(action, load):
    """Transition matrix of the post-decision states under a policy; state r * (K + 1) + q."""
    robots, buffer = action.shape[0] - 1, action.shape[1] - 1
    depart, arrive = step_rates(robots, load)
    chain = np.zeros((action.size, action.size))
    for r in range(robots + 1):
        for q in range(buffer + 1):
            here = r * (buffer + 1) + q
            if q > 0:
                to = (r + int(action[r, q - 1])) * (buffer + 1) + q - 1
                chain[here, to] += depart
            if r > 0:
                x = min(q + 1, buffer)
                to = (r - 1 + int(action[r - 1, x])) * (buffer + 1) + x
                chain[here, to] += arrive * r
            chain[here, here] += 1.0 - chain[here].sum()
    return chain


def evaluate_policy(action, load, cost):
    """Gain and bias (zero at (1, 1)) of a policy by one dense solution; cost (N + 1, K + 1)."""
    chain = policy_chain(action, load)
    n = len(chain)
    keep = np.arange(1, n)  # (0, 0) is left out: nothing leads there
    origin = list(keep).index(action.shape[1] + 1)
    system = np.eye(n - 1) - chain[1:, 1:]
    system[:, origin] = 1.0  # the gain in the place of the bias at (1, 1)
    solution = np.linalg.solve(system, cost.ravel()[1:])
    gain, solution[origin] = solution[origin], 0.0
    return gain, np.concatenate([[np.inf], solution]).reshape(action.shape)
