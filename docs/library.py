"""The page of the Python library, from its docstrings: docs/generate.py writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import markdown

import sojourn
from sojourn import result

_MADE = "Written by `docs/generate.py` from the docstrings; not edited by hand."
#: A part of a docstring with a line for each name, in the manner of Google's.
_NAMED = re.compile(r"(Args|Raises):\n")


def page() -> str:
    """The whole page; a name of `sojourn` that has no place here is a mistake of ours, and raises."""
    things = {name: getattr(sojourn, name) for name in sojourn.__all__}
    errors = [name for name, thing in things.items() if _is(thing, Exception)]
    classes = [name for name, thing in things.items() if inspect.isclass(thing) and name not in errors]
    lists = [name for name in things if name.startswith("list_")]
    functions = [
        name for name, thing in things.items() if inspect.isroutine(inspect.unwrap(thing)) and name not in lists
    ]
    if left := set(things) - {*errors, *classes, *lists, *functions}:
        raise ValueError(f"docs/library.py has no place for {', '.join(sorted(left))}")
    text = f"# The Python library\n\n{_MADE}\n\n{_prose(sojourn)}\n## Functions\n\n"
    # What is run comes first, then what is made of it.
    for name in sorted(functions, key=lambda name: (name != "run", name)):
        text += f"### `{name}`\n\n```python\n{_signature(name, things[name])}\n```\n\n{_prose(things[name])}\n"
    text += "### Lists\n\n" + markdown.table(["", ""], ([f"`{name}()`", _first(things[name])] for name in lists))
    text += "\n\n## Results\n\n"
    for name, thing in (("Result", sojourn.Result), ("Series", result.Series), ("Outcome", sojourn.Outcome)):
        text += _class(name, thing)
    text += "## An algorithm of yours\n\n" + _class("CongestionControl", sojourn.CongestionControl)
    text += "## What is handed over\n\n"
    for name in classes:
        if name not in ("Result", "Outcome", "CongestionControl"):
            text += _class(name, things[name])
    rows = ([f"`{name}`", str(things[name].exit_code), _first(things[name])] for name in errors)
    return text + "## Errors\n\n" + markdown.table(["", "exit code", ""], rows, "lrl") + "\n"


def _is(thing: Any, kind: type) -> bool:
    return inspect.isclass(thing) and issubclass(thing, kind)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """Without types, which the words of the docstring tell."""
    whole = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in whole.parameters.values()]
    line = f"{name}{whole.replace(parameters=bare, return_annotation=whole.empty)}"
    if len(line) > 100:
        line = re.sub(r"^(\w+\()(.*)\)$", lambda m: f"{m[1]}\n    " + m[2].replace(", ", ",\n    ") + ",\n)", line)
    return f"{line} -> {whole.return_annotation}"


def _paragraphs(thing: Any) -> list[str]:
    text = inspect.cleandoc(thing.__doc__ or "")
    if not text:
        raise ValueError(f"{thing!r} has no docstring")
    return text.split("\n\n")


def _first(thing: Any) -> str:
    """The first paragraph, as a cell holds it."""
    return markdown.cell(_paragraphs(thing)[0])


def _prose(thing: Any) -> str:
    """A docstring as Markdown: its examples in fences, its arguments and errors as tables."""
    made = []
    for part in _paragraphs(thing):
        if part.startswith(">>>"):
            made.append(f"```python\n{part}\n```")
        elif found := _NAMED.match(part):
            rows = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", part[found.end() :], re.MULTILINE)
            head = "option" if found[1] == "Args" else "raises"
            made.append(markdown.table([head, ""], ([f"`{name}`", markdown.cell(said)] for name, said in rows)))
        else:
            made.append(part)
    return "\n\n".join(made) + "\n"


def _class(name: str, thing: type) -> str:
    text = f"### `{name}`\n\n{_prose(thing)}\n"
    if is_dataclass(thing) and (own := [f"`{one.name}`" for one in fields(thing) if not one.name.startswith("_")]):
        text += f"Fields: {', '.join(own)}.\n\n"
    if rows := list(_members(thing)):
        text += markdown.table(["", ""], rows) + "\n\n"
    return text


def _members(thing: type) -> Iterator[list[str]]:
    """Properties and methods, each with the first paragraph of what is said of it."""
    for name, one in vars(thing).items():
        if name.startswith("_"):
            continue
        if isinstance(one, (property, cached_property)):
            yield [f"`.{name}`", markdown.cell(inspect.cleandoc(one.__doc__ or ""))]
        elif inspect.isfunction(one):
            taken = list(inspect.signature(one).parameters.values())[1:]
            given = ", ".join(str(p.replace(annotation=p.empty)) for p in taken)
            yield [f"`.{name}({given})`", markdown.cell(inspect.cleandoc(one.__doc__ or ""))]
