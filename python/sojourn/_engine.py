"""The one door to the Rust core: everything else in the package speaks the types of `_types`.

The core takes text and returns JSON and raw columns. Here they become those frozen dataclasses, and its exceptions
become `sojourn.errors`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from ._types import Claim, Experiment, Kept, KernelHosts, Limits, Plan, Raw, Record, Version
from .errors import RunError, SpecError
from .reading import content

if TYPE_CHECKING:
    from .algorithm import CongestionControl

    # Only Linux has them.
    Asks = _core.Asks
    Device = _core.Device
    Emulator = _core.Emulator
    Namespace = _core.Namespace
    Ring = _core.Ring

T = TypeVar("T")

StopFlag = _core.StopFlag
Stopped = _core.Stopped


def read(source: str | Path, overrides: Sequence[tuple[str, str]] = (), *, or_folder: bool = False) -> Experiment:
    """Take a path to an experiment file, or an experiment in one line.

    `or_folder`: a results folder would have done, too, which a refusal says.
    """
    pairs = tuple((key, value) for key, value in overrides)
    path = Path(source)
    if isinstance(source, str) and not source.strip():
        raise SpecError(f"an empty text is no experiment: give a file, or one line {_LIKE}")
    # The one-line form has a colon and, but for the shortest, spaces.
    looks_like_path = isinstance(source, Path) or path.suffix == ".toml" or not re.search(r"[:\s]", str(source))
    if looks_like_path or _exists(path):
        try:
            return Experiment(content(path, limits().text).decode("utf-8"), str(path), pairs)
        except SpecError:
            raise
        except FileNotFoundError:
            one_line = "" if path.suffix == ".toml" else f"; an experiment in one line has a colon, {_LIKE}"
            kind = "results folder or experiment file" if or_folder and path.suffix != ".toml" else "file"
            raise SpecError(f"{path}: no such {kind}{_near(path) or one_line}") from None
        except IsADirectoryError:
            if (path / "meta.json").is_file():
                raise SpecError(
                    f"{path} is a results folder, not an experiment. To see it: sojourn report {path}. "
                    f"To run it again: sojourn run {path / 'spec.toml'}"
                ) from None
            raise SpecError(f"{path} is a folder; give an experiment file in it, or a one-line experiment") from None
        except UnicodeDecodeError as error:
            raise SpecError(
                f"{path}: not UTF-8 text (byte {error.start}); experiment files are TOML in UTF-8"
            ) from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise SpecError(f"{str(source)!r}: cannot be read: {getattr(error, 'strerror', error)}") from None
    return Experiment(str(source), "<command line>", pairs)


#: What an experiment in one line looks like.
_LIKE = 'as in "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s"'


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # longer than a file name may be, or a NUL: it is the one-line form
        return False


def _near(path: Path) -> str:
    from difflib import get_close_matches

    from .catalogue import experiment, experiments

    try:
        files = list(path.parent.glob("*.toml"))
    except OSError:
        files = []
    here = {file.name: file for file in files}
    shipped = {Path(file).stem: Path(file) for file, _ in experiments()}
    close = get_close_matches(path.name, here, n=1) or get_close_matches(path.name, shipped, n=1, cutoff=0.8)
    if named := experiment(path.as_posix()):
        return f"; did you mean {named}? (`sojourn reproduce {path}` takes the name, with print beside)"
    near = next(((here | shipped)[name] for name in close), None)
    return f"; did you mean {near}?" if near else ""


def _unsound(error: _core.SpecError, file: str) -> SpecError:
    """The core's refusal as ours, with its parts where it has any."""
    parts = {name: getattr(error, name) for name in ("source", "key", "what") if hasattr(error, name)}
    parts |= {"what": _of_python(parts["what"], file)} if "what" in parts else {}
    return SpecError(_of_python(str(error), file), **parts)


def _of_python(message: str, file: str) -> str:
    """What is said of a congestion control that is not there: it may be a class in Python, as that of results was."""
    unknown = re.search(r'there is no congestion control "([^"]*)"', message)
    if not unknown:
        return message
    try:
        meta = Path(file).with_name("meta.json") if Path(file).name == "spec.toml" else None
        classes = json.loads(meta.read_bytes())["classes"] if meta else ()
        had = unknown[1] in classes
    except (OSError, ValueError, LookupError, TypeError):
        had = False
    if not had:
        return (
            f"{message}; one that is a class in Python is given in Python: "
            f"sojourn.run(…, algorithms={{{unknown[1]!r}: …}})"
        )
    return (
        f"{message[: unknown.end()]}: in these results it was a class in Python, which they do not hold; "
        f"in Python sojourn.run({file!r}, algorithms={{{unknown[1]!r}: …}}) runs them again"
    )


def _ask(question: Callable[..., T], experiment: Experiment, *more: Any, **options: Any) -> T:
    """Put a question about an experiment to the core."""
    try:
        return question(experiment, *more, **options)
    except _core.SpecError as error:
        raise _unsound(error, experiment.file) from None


def check(experiment: Experiment) -> Plan:
    """Validate and expand; raise `SpecError` with file, line and column otherwise."""
    plan = Plan.parse(_ask(_core.check, experiment))
    if plan.figures:
        from .plot.asked import refuse_unsound  # what draws is slow to load, and knows what can be drawn

        refuse_unsound(experiment, plan)
    return plan


def misdrawn(experiment: Experiment, number: int, message: str) -> SpecError:
    """What is wrong with a figure that the experiment asks for, at its place there."""
    return _unsound(_ask(_core.misdrawn, experiment, number, message), experiment.file)


def run(
    experiment: Experiment,
    case: int,
    repetition: int,
    record: Record,
    stop: _core.StopFlag | None = None,
    algorithms: Mapping[str, type[CongestionControl]] | None = None,
) -> Raw:
    """Run one case once, in this thread, without the interpreter lock.

    Raises `Stopped` where it was stopped, and RunError for all else: the experiment has been checked, so that what the
    core refuses now is this run's alone.
    """
    try:
        python_cc = dict(algorithms) if algorithms else None
        result = _core.run(experiment, case, repetition, record, stop=stop or _core.StopFlag(), python_cc=python_cc)
    except (_core.Stopped, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the core derives from BaseException, and one case must not end a sweep
        refused = isinstance(error, _core.SpecError)
        what = str(error) if refused else f"{type(error).__name__}: {error}{_raised_at(error)}"
        raise RunError(f"{experiment.named(case, repetition)}: {what}", case, repetition) from error
    return Raw(case, repetition, result.summary, result.tables, tuple(result.names))


def _raised_at(error: BaseException) -> str:
    """The line of a congestion control in Python that raised, if one did, with what the core notes: flow and time."""
    from traceback import extract_tb

    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return place + "".join(f", {note}" for note in getattr(error, "__notes__", ()))


def capture_points(experiment: Experiment, case: int) -> list[str]:
    """Where packets of a case can be captured: `sender`, `receiver` and every link with a rate."""
    return _ask(_core.capture_points, experiment, case)


def capture(
    experiment: Experiment,
    case: int,
    repetition: int,
    out: Path,
    points: Sequence[str] = (),
    flows: Sequence[int] = (),
    stop: _core.StopFlag | None = None,
) -> tuple[str, int]:
    """Run one case once and write its packets as pcapng; return digest and number of packets. OSError: not written."""
    return _ask(
        _core.capture,
        experiment,
        case,
        repetition,
        out,
        points=list(points),
        flows=list(flows),
        title=experiment.named(case, repetition),
        stop=stop or _core.StopFlag(),
    )


def asked(experiment: Experiment) -> dict[int, list[int]]:
    """The cases that printed cells and claims speak of, each with those that its claims compare it with."""
    return dict(_ask(_core.asked, experiment))


def evaluate(experiment: Experiment, summaries: Sequence[str]) -> list[Claim]:
    """Judge the file's `[[expect]]` claims on finished runs."""
    return [
        Claim(
            name=v["name"] or "",
            that=v["that"],
            wanted=v["is"],
            holds=v["holds"],
            measured=v["measured"],
            case=v["case"] or {},
            why=v["why"] or "",
            judged=v["judged"],
            shown=v["shown"],
        )
        for v in json.loads(_ask(_core.evaluate, experiment, list(summaries)))
    ]


def published(experiment: Experiment, summaries: Sequence[str]) -> str:
    """Compare the file's `[published]` values with finished runs; JSON, a list of tables."""
    return _ask(_core.compare, experiment, list(summaries))


@cache
def limits() -> Limits:
    """Return the limits of the core that hold for what never reaches it."""
    given = json.loads(_core.limits())
    return Limits(**given | {"series": tuple(map(tuple, given["series"]))})


def sweeps(experiment: Experiment, key: str) -> bool:
    """Whether an experiment sweeps a key; its cases are not expanded for that."""
    return key in _ask(_core.swept, experiment)


@cache
def version() -> Version:
    """Return the versions of the core."""
    data = json.loads(_core.version())
    return Version(data["version"], data["schema"], data["model"], data["format"], data.get("git", ""))


def schema() -> dict[str, Any]:
    """Return the JSON schema of the experiment file."""
    loaded: dict[str, Any] = json.loads(_core.schema())
    return loaded


@cache
def table(kind: str) -> tuple[dict[str, Any], ...]:
    """Return a registry: `algorithms`, `queues`, `slow_starts`, `traffic`, `figures`, `stacks` or `causes`."""
    entries = json.loads(getattr(_core, kind)())
    return tuple({"name": entry} if isinstance(entry, str) else entry for entry in entries)


@cache
def diftr() -> dict[str, list[dict[str, str]]]:
    """Return the columns and the events of the table `diftr`, and the variables of its queues."""
    loaded: dict[str, list[dict[str, str]]] = json.loads(_core.diftr())
    return loaded


def diftr_events() -> tuple[str, ...]:
    """Return the names of the events of the table `diftr`, in order of their numbers."""
    return tuple(event["name"] for event in diftr()["events"])


def quantity(text: str) -> tuple[float, str, str, float] | None:
    """Read a value with a unit: its number, its unit, its kind and the unit's scale; None for what is none."""
    try:
        return _core.quantity(text)
    except UnicodeEncodeError:  # bytes of a command line that are no text
        return None


def networks() -> tuple[str, str]:
    """Return the networks of senders and receivers of runs over the kernel's hosts."""
    return _core.networks()


def addresses(flows: int) -> tuple[list[str], list[str]]:
    """Return the addresses there of so many flows' senders and receivers."""
    return _core.addresses(flows)


def whole_numbers(spec: str) -> dict[str, int]:
    """Return an algorithm's parameters as whole numbers: what its C is built with."""
    try:
        numbers: dict[str, int] = json.loads(_core.whole_numbers(spec))
    except _core.SpecError as error:
        raise _unsound(error, "") from None
    return numbers


def _linux() -> Any:
    """Return the core where it has what only Linux has; refuse other systems."""
    from .linux.net import linux

    linux()
    return _core


def namespace() -> Namespace:
    """Make a network namespace, which lives as long as the object."""
    space: Namespace = _linux().Namespace()
    return space


def device(space: Namespace, name: str) -> Device:
    """Make a TUN device in a namespace, which lives as long as the object."""
    made: Device = _linux().Device(space, name)
    return made


def ring(number: int, lost: int | None) -> Ring:
    """Open the map into which an algorithm in the kernel tells what it does, and that which counts what was lost."""
    opened: Ring = _linux().Ring(number, lost)
    return opened


def linux_refuses(experiment: Experiment, case: int, carried: bool = False) -> str:
    """Why the kernel's hosts cannot run a case, or with `carried` not in time; empty if they can."""
    return _ask(_linux().linux_refuses, experiment, case, carried) or ""


def linux_asks(experiment: Experiment, case: int) -> list[Asks]:
    """Return what the senders of a case ask of the system, per flow."""
    return _ask(_linux().linux_asks, experiment, case)


def emulator(
    experiment: Experiment,
    case: int,
    repetition: int,
    devices: tuple[Device, Device],
    kept: Kept,
    *,
    realtime: bool = True,
    hosts: KernelHosts | None = None,
) -> Emulator:
    """Start a run between two devices: of the case's flows over the kernel's hosts, or without these of programs."""
    start: type[Emulator] = _linux().Emulator
    return _ask(start, experiment, case, repetition, devices, kept, realtime=realtime, hosts=hosts)


def replay(
    experiment: Experiment,
    case: int,
    repetition: int,
    arrivals: Mapping[str, list[int]],
    flows: Sequence[tuple[str, bool]],
    seconds: float,
) -> Raw:
    """Play recorded arrivals through the links of a case; programs made `flows`, each with whether it goes down."""
    again = _ask(_linux().replay, experiment, case, repetition, dict(arrivals), list(flows), seconds)
    return Raw(case, repetition, again.summary, again.tables, tuple(again.names))
