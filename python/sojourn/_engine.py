"""The one door to the Rust core: everything else in the package speaks the types of this module.

The core takes text and returns JSON and raw columns. Here they become frozen dataclasses, and its exceptions become
`sojourn.errors`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from .errors import RunError, SpecError
from .reading import content

if TYPE_CHECKING:
    from .algorithm import CongestionControl

T = TypeVar("T")
Overrides = tuple[tuple[str, str], ...]
#: Table -> column -> (dtype, little-endian bytes), as the core hands them over.
Columns = Mapping[str, tuple[str, bytes]]

StopFlag = _core.StopFlag
Stopped = _core.Stopped


@dataclass(frozen=True, slots=True)
class Experiment:
    """The description of an experiment as the user gave it: text, where it came from, `--set` changes.

    `classes` names the congestion controls that are Python classes, which the core cannot know.
    """

    text: str
    file: str
    overrides: Overrides = ()
    classes: tuple[str, ...] = ()

    def change(self, *overrides: tuple[str, str]) -> Experiment:
        """Return the same experiment with further `--set` changes; the last one of a key wins."""
        return replace(self, overrides=(*self.overrides, *overrides))


@dataclass(frozen=True, slots=True)
class Case:
    """One point of the sweep, with every default filled in."""

    index: int
    values: Mapping[str, str] = field(hash=False)
    hash: str
    repeat: int
    seed: int
    duration_s: float
    measure_s: tuple[float, float]
    groups: tuple[str, ...]
    flows: tuple[Mapping[str, Any], ...] = field(hash=False)
    links: tuple[Mapping[str, Any], ...] = field(hash=False)
    resolved: Mapping[str, Any] = field(repr=False, hash=False)

    @property
    def label(self) -> str:
        """The swept values in one line, such as `path.rate=12 Mbit/s path.rtt=40 ms`; empty without a sweep."""
        return "  ".join(f"{key}={value}" for key, value in self.values.items())


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked experiment: its canonical text and hash, and the cases it expands to."""

    title: str
    hash: str
    toml: str
    cases: tuple[Case, ...]
    expect: tuple[Mapping[str, Any], ...] = field(hash=False)
    published: tuple[Mapping[str, Any], ...] = field(hash=False)
    #: How the publication draws it: kinds of plots with their options.
    figures: tuple[tuple[str, Mapping[str, str]], ...] = field(hash=False)
    raw: str = field(repr=False)

    @classmethod
    def parse(cls, raw: str) -> Plan:
        """Read the JSON that the core, or a results folder, holds."""
        data = json.loads(raw)
        cases = tuple(
            Case(
                index=case["index"],
                values=case["values"],
                hash=case["hash"],
                repeat=case["repeat"],
                seed=case["seed"],
                duration_s=case["duration_s"],
                measure_s=(case["measure_s"][0], case["measure_s"][1]),
                groups=tuple(case["groups"]),
                flows=tuple(case["flows"]),
                links=tuple(case["links"]),
                resolved=case.get("resolved", {}),
            )
            for case in data["cases"]
        )
        return cls(
            title=data["title"] or "",
            hash=data["hash"],
            toml=data["toml"],
            cases=cases,
            expect=tuple(data["expect"]),
            published=tuple(data["published"]),
            figures=tuple((one["plot"], one["options"]) for one in data.get("figures", ())),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """What a run keeps besides its summary: series at a step, window-change events, every ACK, every packet at queues.

    `window` limits series and ACKs, in seconds, so that a fine step over a long run stays small.
    """

    series_ms: float | None = None
    events: bool = False
    acks: bool = False
    window: tuple[float, float] | None = None
    diftr: bool = False

    def __post_init__(self) -> None:
        if self.window is not None:  # a list, when it comes from JSON
            object.__setattr__(self, "window", tuple(self.window))

    def covers(self, other: Record) -> bool:
        """Whether a run recorded like this holds all that `other` asks for."""
        tables = self.events >= other.events and self.acks >= other.acks and self.diftr >= other.diftr
        return tables and self._samples(other) and (self._spans(other) or not (other.series_ms or other.acks))

    def joined(self, earlier: Record) -> Record:
        """The union of two recordings; where they conflict (series step, window), this one wins.

        There is one step of series: the earlier one where all that is asked now is among its samples, else this one.
        """
        step = self.series_ms
        if step is None or (earlier._samples(self) and earlier._spans(self)):
            step = earlier.series_ms
        kept = [self] if self.series_ms or self.acks else []
        if earlier.acks or (earlier.series_ms and earlier.series_ms == step):
            kept.append(earlier)
        windows = [one.window for one in kept if one.window is not None]
        whole = len(windows) < len(kept) or not windows
        return Record(
            series_ms=step,
            events=self.events or earlier.events,
            acks=self.acks or earlier.acks,
            window=None if whole else (min(start for start, _ in windows), max(stop for _, stop in windows)),
            diftr=self.diftr or earlier.diftr,
        )

    def _samples(self, other: Record) -> bool:
        """Whether the instants that another step samples are among those of this one."""
        if not self.series_ms or not other.series_ms:
            return other.series_ms is None
        steps = other.series_ms / self.series_ms
        return round(steps) >= 1 and abs(steps - round(steps)) < 1e-9 * steps

    def _spans(self, other: Record) -> bool:
        if self.window is None or other.window is None:
            return self.window is None
        return self.window[0] <= other.window[0] and other.window[1] <= self.window[1]


@dataclass(frozen=True, slots=True)
class Raw:
    """One finished run as it comes from the core; plain bytes and text, so that it travels between machines."""

    case: int
    repetition: int
    summary: str
    tables: Mapping[str, Columns]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """The verdict on one `[[expect]]` of the file."""

    name: str
    that: str
    wanted: str
    holds: bool
    measured: float | None
    case: Mapping[str, str]
    why: str
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Version:
    """Versions of the core: package, `schema` of results, `model` of the simulator, `format` of files."""

    version: str
    schema: int
    model: int
    format: int
    git: str


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


def _unsound(error: _core.SpecError) -> SpecError:
    """The core's refusal as ours, with its parts where it has any."""
    parts = {name: getattr(error, name) for name in ("source", "key", "what") if hasattr(error, name)}
    return SpecError(str(error), **parts)


def _ask(question: Callable[..., T], experiment: Experiment, *more: Any) -> T:
    """Put a question about an experiment to the core."""
    try:
        return question(experiment.text, experiment.file, list(experiment.overrides), *more, list(experiment.classes))
    except _core.SpecError as error:
        raise _unsound(error) from None


def check(experiment: Experiment) -> Plan:
    """Validate and expand; raise `SpecError` with file, line and column otherwise."""
    return Plan.parse(_ask(_core.check, experiment))


def run(
    experiment: Experiment,
    case: int,
    repetition: int,
    record: Record,
    stop: _core.StopFlag | None = None,
    algorithms: Mapping[str, type[CongestionControl]] | None = None,
) -> Raw:
    """Run one case once, in this thread, without the interpreter lock. A stopped run raises `Stopped`."""
    try:
        result = _core.run(
            experiment.text,
            experiment.file,
            list(experiment.overrides),
            case,
            repetition,
            series_ms=record.series_ms,
            events=record.events,
            acks=record.acks,
            diftr=record.diftr,
            window=record.window,
            stop=stop or _core.StopFlag(),
            python_cc=dict(algorithms) if algorithms else None,
        )
    except _core.SpecError as error:
        raise _unsound(error) from None
    except (_core.Stopped, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the core derives from BaseException, and one case must not end a sweep
        what = f"{type(error).__name__}: {error}{_raised_at(error)}"
        where = f"{experiment.file}, case {case}, repetition {repetition}"
        raise RunError(f"{where}: {what}", case, repetition) from error
    return Raw(case, repetition, result.summary, result.tables, tuple(result.names))


def _raised_at(error: BaseException) -> str:
    """The line of a congestion control in Python that raised, if one did."""
    from traceback import extract_tb

    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


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
    title = f"{experiment.file}, case {case}, repetition {repetition}"
    try:
        return _core.capture(
            experiment.text,
            experiment.file,
            list(experiment.overrides),
            case,
            repetition,
            out,
            points=list(points),
            flows=list(flows),
            title=title,
            stop=stop or _core.StopFlag(),
        )
    except _core.SpecError as error:
        raise _unsound(error) from None


def asked(experiment: Experiment) -> dict[int, list[int]]:
    """The cases that printed cells and claims speak of, each with those that its claims compare it with."""
    return dict(_ask(_core.asked, experiment))


def evaluate(experiment: Experiment, summaries: Sequence[str]) -> list[Claim]:
    """Judge the file's `[[expect]]` claims on finished runs."""
    return [
        Claim(
            v["name"] or "", v["that"], v["is"], v["holds"], v["measured"], v["case"] or {}, v["why"] or "", v["judged"]
        )
        for v in json.loads(_ask(_core.evaluate, experiment, list(summaries)))
    ]


def published(experiment: Experiment, summaries: Sequence[str]) -> str:
    """Compare the file's `[published]` values with finished runs; JSON, a list of tables."""
    return _ask(_core.compare, experiment, list(summaries))


@dataclass(frozen=True, slots=True)
class Limits:
    """What the core allows: bytes of an experiment's text, repetitions of a case, runs in all, the largest seed."""

    text: int
    repeat: int
    runs: int
    seed: int


@cache
def limits() -> Limits:
    """Return the limits of the core that hold for what never reaches it."""
    return Limits(**json.loads(_core.limits()))


def sweeps(experiment: Experiment, key: str) -> bool:
    """Whether an experiment sweeps a key; its cases are not expanded for that."""
    given = (experiment.text, experiment.file, list(experiment.overrides), list(experiment.classes))
    try:
        return key in _core.swept(*given)
    except _core.SpecError as error:
        raise _unsound(error) from None


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
def diftr_events() -> tuple[str, ...]:
    """Return the names of the events of the table `diftr`, in order of their numbers."""
    return tuple(str(event["name"]) for event in json.loads(_core.diftr())["events"])


@cache
def units() -> Mapping[str, Mapping[str, float]]:
    """Return the units of values by kind (`time`, `rate`, `size`, `packets`): in seconds, bit/s, bytes, packets."""
    listed: dict[str, dict[str, float]] = json.loads(_core.units())
    return listed
