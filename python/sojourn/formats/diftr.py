"""The text of DIFTR: the table `diftr` as a log file, in the manner of SIFTR, from whose code DIFTR was built.

Its own format was never published. Ours has a line about the start (the columns and their order, the links, the
flows), one CSV line per event, and a line about the end that says how many there were.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._engine import diftr_events
from ..errors import SpecError

if TYPE_CHECKING:
    import polars as pl

VERSION = "1"
#: Bytes of a packet, of which the table holds no more.
LARGEST = 2**32 - 1
#: Columns that every log has; what queues show of their inner state follows.
WHOLE = ("link", "flow", "way", "size", "packets", "bytes")
ALWAYS = ("time_s", "event", *WHOLE, "sojourn_ms")


def written(rows: pl.DataFrame, links: Sequence[str], flows: Sequence[str]) -> bytes:
    """Write a table `diftr`."""
    extra = [name for name in rows.columns if name not in (*ALWAYS, "case", "repetition", "link_name", "flow_name")]
    columns = [*ALWAYS, *extra]
    head = "\t".join((
        "enable_time_secs=0", f"diftrver={VERSION}", f"columns={','.join(columns)}",
        f"links={','.join(links)}", f"flows={','.join(flows)}",
    ))  # fmt: skip
    end = float(rows.select("time_s").max().item() or 0.0)
    body = rows.select(columns).write_csv(include_header=False)
    return f"{head}\n{body}disable_time_secs={end!r}\tnum_events={len(rows)}\n".encode()


def read(path: Path, text: str) -> tuple[pl.DataFrame, bool]:
    """Read one; also say whether its end is missing."""
    import polars as pl

    head, _, rest = text.partition("\n")
    said = dict(part.partition("=")[::2] for part in head.split("\t"))
    columns = said.get("columns", "").split(",")
    if said.get("diftrver") != VERSION or tuple(columns[: len(ALWAYS)]) != ALWAYS or len(set(columns)) != len(columns):
        raise SpecError(f"{path}, line 1: no DIFTR log of version {VERSION} with the columns {', '.join(ALWAYS)}, …")
    lines = rest.splitlines()
    end = lines.pop() if lines and lines[-1].startswith("disable_time_secs=") else None
    if end is None and lines and not rest.endswith("\n"):
        lines.pop()  # in the middle of a line
    if end is not None and f"num_events={len(lines)}" not in end.split("\t"):
        raise SpecError(f"{path}: {len(lines)} events, and its last line says {end[:80]!r}")
    events = diftr_events()
    for number, line in enumerate(lines, 2):
        if line.count(",") != len(columns) - 1 or line.split(",", 2)[1] not in events:
            raise SpecError(f"{path}, line {number}: expected {len(columns)} fields with an event, found {line[:80]!r}")
    types: Mapping[str, type[pl.DataType]] = {
        name: pl.String if name == "event" else pl.UInt64 if name in WHOLE else pl.Float64 for name in columns
    }
    frame = pl.DataFrame(schema=types)
    try:
        if lines:
            frame = pl.read_csv(
                io.StringIO("\n".join(lines)), has_header=False, new_columns=columns, quote_char=None,
                schema_overrides=list(types.values()),
            )  # fmt: skip
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise SpecError(f"{path}: a field is no number: {str(error).splitlines()[0][:200]}") from None
    large = frame.filter(pl.col("size") > LARGEST)["size"]
    if len(large):  # sums of such would wrap
        raise SpecError(f"{path}: a packet of {large[0]} bytes; allowed are up to {LARGEST}")
    names = {"link": said.get("links", "").split(","), "flow": said.get("flows", "").split(",")}
    return frame.with_columns(
        pl.col(key).replace_strict(dict(enumerate(known)), default=None, return_dtype=pl.String).alias(f"{key}_name")
        for key, known in names.items()
    ), end is None
