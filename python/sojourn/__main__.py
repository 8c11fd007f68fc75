"""`python -m sojourn`, and the command, which answers for Ctrl-C and SIGTERM while it is still being imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; what it imports, typer and all commands, is the longest part of a short one."""
    try:
        _heed_sigterm()
        from .cli import main as run

        run()
    except KeyboardInterrupt as error:
        from .errors import ended_by

        sys.exit(ended_by(error))


def _heed_sigterm() -> None:
    """End on SIGTERM, which schedulers and supervisors send, as on Ctrl-C; one that our caller ignores stays so."""
    import signal

    from .errors import Terminated

    def end(number: int, frame: object) -> None:
        raise Terminated

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


if __name__ == "__main__":
    main()
