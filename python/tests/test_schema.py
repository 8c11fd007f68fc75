"""The schema that editors are given takes every file that we ship, and not everything."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj

FILES = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
#: What says nothing about validity.
REMARKS = {"$schema", "$defs", "title", "description", "examples", "default", "format", "x-kind"}


def faults(schema: Any, value: Any, root: Any, where: str = "") -> Iterator[str]:
    """What is wrong with a value, by the part of JSON Schema that ours is written in; anything else of it raises."""
    if isinstance(schema, bool):
        if not schema:
            yield f"{where}: not allowed"
        return
    for word, says in schema.items():
        match word:
            case "$ref":
                yield from faults(root["$defs"][says.removeprefix("#/$defs/")], value, root, where)
            case "type":
                kinds = [says] if isinstance(says, str) else says
                truth = isinstance(value, bool)
                if not any(isinstance(value, TYPES[kind]) and truth <= (kind == "boolean") for kind in kinds):
                    yield f"{where}: {value!r} is no {' or '.join(kinds)}"
            case "enum":
                if value not in says:
                    yield f"{where}: {value!r} is none of {says}"
            case "const":
                if value != says:
                    yield f"{where}: {value!r} is not {says}"
            case "anyOf":
                every = [list(faults(one, value, root, where)) for one in says]
                if all(every):
                    yield " or ".join(one[0] for one in every)
            case "required" if isinstance(value, dict):
                yield from (f"{where}: no {key}" for key in says if key not in value)
            case "minItems" | "maxItems" if isinstance(value, list):
                if len(value) < says if word == "minItems" else len(value) > says:
                    yield f"{where}: {len(value)} items"
            case "items" if isinstance(value, list):
                for i, one in enumerate(value):
                    yield from faults(says, one, root, f"{where}[{i}]")
            case "properties" | "patternProperties" | "additionalProperties" if isinstance(value, dict):
                for key, one in value.items():
                    named = schema.get("properties", {}).get(key)
                    fitting = [s for p, s in schema.get("patternProperties", {}).items() if re.search(p, key)]
                    chosen = {"properties": [] if named is None else [named], "patternProperties": fitting}
                    others = [] if named is not None or fitting else [says]
                    for inner in chosen.get(word, others):
                        yield from faults(inner, one, root, f"{where}.{key}")
            case _ if word not in REMARKS and word not in KNOWN:
                raise AssertionError(f"{where}: this test does not know {word!r} of JSON Schema")


KNOWN = {"required", "minItems", "maxItems", "items", "properties", "patternProperties", "additionalProperties"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_schema_takes_a_shipped_file(path):
    assert list(faults(sj.schema(), tomllib.loads(path.read_text("utf-8")), sj.schema())) == []


COLUMNS = '[path]\nrate = "1 Mbit/s"\nrtt = "1 ms"\n[[flow]]\ncc = "cubic"\n[published]\n[published.columns]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sweeps = 1", "sweeps: not allowed"),
        ("format = 2", "format: 2 is not 1"),
        ('[path]\nrate = "1 Mbit/s"\nrtt = "1 ms"\nspeed = 3', "path.speed: not allowed"),
        ("[run]\nduration = true", "run.duration: True is no"),
        (COLUMNS + "a = 3", "published.columns.a: 3 is no string"),
        (COLUMNS + 'a = {tolerance = "3 %"}', "published.columns.a: no that"),
    ],
)
def test_the_schema_refuses(text, says):
    assert says in " ".join(faults(sj.schema(), tomllib.loads(text), sj.schema()))
