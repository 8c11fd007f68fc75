"""The first process of a command's PID namespace: whatever it leaves running ends with it.

Run as a script by its path, without importing the package. The command itself is a child and not PID 1, because the
kernel takes no signal to PID 1 that it does not handle: Ctrl-C would not end it.
"""

import os
import signal
import sys


def main() -> int:
    """Run the command and return its exit code as a shell would tell it; first comes what it is to ignore: `1,3`."""
    kept, *command = sys.argv[1:]
    ignored = {int(number) for number in kept.split(",") if number}
    endings = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
    for number in endings:
        signal.signal(number, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        for number in endings:
            if number not in ignored:
                signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"sojourn: {command[0]}: {error.strerror}\n".encode())
            os._exit(126 if isinstance(error, PermissionError) else 127)
    while True:
        pid, status = os.wait()  # orphans come to PID 1, too
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
