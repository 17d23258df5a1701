"""`python examples/poller`: a start that Ctrl-C ends with one line and status 130, also during the imports."""

import os
import signal
import sys
from typing import Any


def leave(*_: Any) -> None:
    os.write(2, b"poller: interrupted\n")
    os._exit(130)  # nothing has begun; libraries half imported make other errors of an exception


if __name__ == "__main__":
    signal.signal(signal.SIGINT, leave)
    from command import arguments, main

    asked = arguments()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(asked))
