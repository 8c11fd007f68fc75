"""The command itself: its commands in order, and what becomes of errors."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from .errors import SojournError, SpecError, ended_by
from .terminal import say

#: The order in which help names commands: what a newcomer needs first.
ORDER = (
    *("run", "plot", "report", "compare", "reproduce", "suite", "whatif", "list", "show", "doctor"),
    *("verify", "emulate", "kernel", "export", "log", "spp"),
)


class Commands(TyperGroup):
    """Turns the package's errors into one message and an exit code, for every command."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of help; one that has no place there is a mistake of ours, and raises."""
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what it raises becomes a message and an exit code."""
        given = [*ctx._protected_args, *ctx.args]
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Typer says where it found out, which is nothing to its user.
            error.message = error.message.removeprefix("Value error, ")
            raise
        except typer.exceptions.TyperException as error:
            # An option of one letter is what the parser takes a value such as -20Mbit/s for.
            option = str(getattr(error, "option_name", ""))
            if not option[1:2].isdigit():
                raise
            typed = next((one for one in given if one.startswith(option)), option)
            say(
                f"error: {typed!r} begins with a dash and is read as an option; rates, times and sizes are not "
                "negative, and a file that is called so is written ./NAME"
            )
            raise typer.Exit(SpecError.exit_code) from None
        except SojournError as error:
            say(f"error: {error}")
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt as error:
            say("interrupted")
            raise typer.Exit(ended_by(error)) from None
