import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from knapsolve import solve_robot_control
from knapsolve.robots.drawing import switching_curves


def test_curves_are_the_longest_queues_at_which_a_robot_is_activated():
    policy = np.zeros((2, 4, 3), dtype=np.uint8)
    policy[0, 1:3, 0] = 1
    policy[1, 0, 1] = 1
    departure, arrival = switching_curves(policy)
    assert departure.tolist() == [2, -1, -1]
    assert arrival.tolist() == [-1, 0, -1]


def test_the_picture_shows_both_curves():
    control = solve_robot_control(16, 5, 0.1, 1.4)
    fig, ax = plt.subplots()
    assert control.plot(ax) is ax
    departure, arrival = switching_curves(control.policy)
    first, second = ax.get_lines()
    assert first.get_ydata().tolist() == departure[departure >= 0].tolist()
    assert second.get_ydata().tolist() == arrival[arrival >= 0].tolist()
    assert "0.25924" in ax.get_title()
    plt.close(fig)
    plt.close(control.plot().figure)
