"""`python -m knapsolve`."""

import sys

from knapsolve.cli import main

sys.exit(main())
