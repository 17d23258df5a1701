"""The fork server of the tests tells how a script ended, whatever it did."""

import signal

import pytest

from tests.processes import check_script, run_script


def test_output_arguments_and_ways_to_end_are_told():
    script = "import sys; print(sys.argv[1:]); print('but', file=sys.stderr)"
    assert run_script(script, "a", 2) == (0, "['a', '2']\n", "but\n")
    assert run_script("import sys; sys.exit(3)").returncode == 3
    assert run_script("raise SystemExit('no')")[::2] == (1, "no\n")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        check_script("1 / 0")


def test_a_script_that_hangs_is_ended_and_the_next_one_runs():
    assert run_script("while True: pass", seconds=1).returncode == -signal.SIGALRM
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert check_script(script) == "True\n"
