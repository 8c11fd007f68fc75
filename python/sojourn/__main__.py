"""`python -m sojourn`, and the command, which is answered for while it is still being imported."""

from __future__ import annotations

import sys

from .errors import INTERRUPTED


def main() -> None:
    """Run the command line; what it imports, typer and all commands, is the longest part of a short one."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
