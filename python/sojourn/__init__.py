"""Sojourn: a laboratory for congestion control and active queue management.

>>> import sojourn as sj
>>> result = sj.run("10Mbit/s 2ms 100p fifo: cubic", set={"run.duration": "2 s"})
>>> result.flows["name"].to_list()
['cubic']

`run` returns a frozen `Result` with polars frames (`flows`, `links`, `groups`, `cases`, `events`, `queue_delay`, …);
`series` is an object with three of them, `.flows`, `.links` and `.vars`. Rates are in Mbit/s (10^6 bits per second at
the IP layer), delays in ms, windows in bytes.
"""

from __future__ import annotations

# Not from `typing`: until the command has been reached, Ctrl-C finds nobody who answers for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .public import *  # noqa: F403 - its `__all__` names them
    from .public import __all__ as __all__
    from .public import __version__ as __version__
else:

    def __getattr__(name: str) -> object:
        """Import the library, or a module of it, when it is asked for; `from . import module` asks here, too."""
        from importlib import import_module
        from importlib.util import find_spec

        if name in ("__all__", "__version__") or not name.startswith("_"):
            if find_spec(f"{__name__}.{name}"):
                return import_module(f"{__name__}.{name}")
            public = import_module(f"{__name__}.public")
            if hasattr(public, name):
                return globals().setdefault(name, getattr(public, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
