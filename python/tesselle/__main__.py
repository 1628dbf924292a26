"""``python -m tesselle``: the command line, the same as ``tess``."""

import signal
import sys

from ._native import main

_INTERRUPTED = 130


def run() -> None:
    """Runs the command line with the arguments of this process."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # The command line handles Ctrl-C itself; Python's handler would add an exception and its traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        code = main(["tess", *sys.argv[1:]])
    except KeyboardInterrupt:
        code = _INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    run()
