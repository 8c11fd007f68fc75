"""Files that may be gzip's: results of Flent always are, and TEACUP keeps its logs so."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from ..errors import SpecError

#: What unpacks to more is no log, and no result of a test.
LARGEST = 512 * 1024 * 1024


def unpacked(path: Path, data: bytes) -> bytes:
    """What a file holds, as it is or unpacked."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            inside = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SpecError(f"{path}: no gzip file that can be unpacked: {error}") from None
    if len(inside) > LARGEST:
        raise SpecError(f"{path}: unpacks to more than {LARGEST >> 20} MiB; no log or Flent result does")
    return inside
