"""``python -m tesselle``: the command line, the same as ``tess``."""

import sys

from ._native import main


def run() -> None:
    """Runs the command line with the arguments of this process."""
    sys.exit(main(["tess", *sys.argv[1:]]))


if __name__ == "__main__":
    run()
