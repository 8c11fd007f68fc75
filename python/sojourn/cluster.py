"""A Dask cluster as an executor."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any

from .errors import SetupError, SpecError
from .pool import cores

#: How long a scheduler may take to answer.
PATIENCE = "10s"
#: A host and a port, with or without the protocol; Dask has several.
_SCHEDULER = re.compile(r"(?:[a-z]+://)?(?:[^\s:/\[\]]+|\[[0-9a-fA-F:.%]+\]):[0-9]{1,5}(?:/\S*)?|inproc://\S+")


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to a Dask cluster: `local` starts one here, anything else is a scheduler's address."""
    if address != "local" and not _SCHEDULER.fullmatch(address):
        raise SpecError(
            f"--cluster {address!r}: expected local, or the address of a Dask scheduler such as tcp://10.0.0.5:8786"
        )
    try:
        import distributed
    except ImportError:
        raise SetupError("--cluster needs Dask: pip install 'sojourn[cluster]'") from None
    dask: Any = distributed  # it has no types
    local = None
    try:
        if address == "local":
            # One process per CPU and one thread each: a run is single-threaded.
            local = dask.LocalCluster(
                n_workers=cores(), threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
            )
        client = dask.Client(local or address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise SetupError(f"--cluster {address}: no Dask scheduler answers there ({error})") from None
    try:
        yield _Cluster(client)
        client.close()
        if local:
            local.close()
    except BaseException:
        # An interrupt must not wait for what the workers are doing; of another's cluster we only take our leave.
        for worker in local.workers.values() if local else ():
            with suppress(OSError, TypeError):  # it may be gone, or not have come up
                os.kill(worker.pid, signal.SIGKILL)
        for side in (client, local) if local else (client,):
            with suppress(TimeoutError):
                side.close(timeout=0.3)
        raise


class _Cluster(Executor):
    """Dask's executor, which does not say how many workers it has."""

    def __init__(self, client: Any) -> None:
        self._dask = client.get_executor(pure=False)
        # Where the executors of the standard library keep it; PEP 3148 has no word for it.
        self._max_workers: int = sum(client.ncores().values()) or 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._dask.submit(fn, *args, **kwargs)
        return future
