"""`python -m sojourn`, and the command, which answers for Ctrl-C while it is still being imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; what it imports, typer and all commands, is the longest part of a short one."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        from .errors import INTERRUPTED

        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
