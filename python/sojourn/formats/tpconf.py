"""The TPCONF variables of a TEACUP configuration, read and never executed.

Assignments are evaluated as far as they are literals, names assigned before, and the few operations that configurations
use (`range`, `list`, `str`, `map`, `join`, indexing, arithmetic).
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SpecError
from ..reading import content

LARGEST = 4 * 1024 * 1024
#: Settings of machines, of files and of loggers: an experiment of ours has no use for them.
OF_THE_TESTBED = re.compile(
    r"TPCONF_(script_path|debug_level|router|hosts|host_internal_ip|.*topology.*|max_time_diff|test_id|remote_dir|"
    r"linux_kern_.*|.*reboot.*|boot_timeout|.*power.*|os_partition|tftp.*|bc_ping.*|web10g.*|.*logger.*|ttprobe.*|"
    r"pcap_snaplen|.*password.*|user)"
)
#: Settings of processes, files and servers, which say nothing about traffic or queues. `rtt` and `queue_size_mult` are
#: for a queue_size of 'bdp' alone, which is refused.
OF_PROCESSES = re.compile(
    r"counter|file_prefix|remote_dir|local_dir|port|src_port|check|wait|kill|docroot|config_dir|config_in|sizes|"
    r"server_port_start|rtt|queue_size_mult"
)
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


@dataclass
class Config:
    """Its variables, and what could not be read."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    #: Why a variable that is assigned has no value here.
    reasons: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """Return a variable that there has to be."""
        if name not in self.values:
            why = f": {self.reasons[name]}" if name in self.reasons else ""
            raise SpecError(f"{self.path}: no {name}, or none that can be read without executing the file{why}")
        return self.values[name]

    def rows(self, name: str, width: int) -> list[tuple[Any, ...]]:
        """A list of tuples."""
        made = self.get(name)
        if not isinstance(made, list) or any(not isinstance(one, tuple) or len(one) != width for one in made):
            raise self.wrong(name, f"a list of tuples of {width} is wanted")
        return made

    def by_host(self, name: str, host: str) -> Any:
        """An entry of a dictionary whose keys are hosts."""
        made = self.values.get(name, {})
        if not isinstance(made, dict):
            raise self.wrong(name, "a dictionary whose keys are hosts is wanted")
        return made.get(host)

    def wrong(self, name: str, what: str) -> SpecError:
        """Make the error that names a variable."""
        return SpecError(f"{self.path}: {name}: {what}")


@dataclass
class Settings(Mapping[str, Any]):
    """Settings of a queue or a task, which has a number; it is known which of them were asked for."""

    number: str
    given: Mapping[str, Any] = field(repr=False)
    asked: set[str] = field(default_factory=set, repr=False)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return self.given[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def unasked(self, of: str) -> list[str]:
        """A note for each that is set, and that nobody asked for."""
        told = [name for name, value in self.given.items() if name not in self.asked and value not in ("", None)]
        return [f"{of} {self.number}: {name}: not carried over" for name in told if not OF_PROCESSES.fullmatch(name)]


def assigned(path: Path) -> Config:
    """Read the variables of a file."""
    try:
        data = content(path, LARGEST)
        tree = ast.parse(data.decode("utf-8"))
    except SpecError:
        raise
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        raise SpecError(f"{path}: not a TEACUP configuration (Python syntax error{where}: {error.msg[:100]})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SpecError(f"{path}: not a TEACUP configuration (no Python: {str(error)[:100]})") from None
    config = Config(path)
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if getattr(node.value.func, "id", "") == "execfile":
                config.unread.append(f"line {node.lineno}: another file (execfile) is not read; paste it in")
            continue
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        name = node.targets[0].id
        try:
            config.values[name] = _value(node.value, config.values)
            config.reasons.pop(name, None)
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError) as error:
            config.values.pop(name, None)
            config.reasons[name] = f"line {node.lineno}: {error}"
            if name.startswith("TPCONF_") and not OF_THE_TESTBED.fullmatch(name):
                config.unread.append(f"{name} (line {node.lineno}): {error}")
    if not any(name.startswith("TPCONF_") for name in config.values):
        raise SpecError(f"{path}: no TPCONF_ variable in it: no TEACUP configuration")
    return config


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluate what needs no execution."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            if node.id not in names:
                raise ValueError(f"{node.id} is not known without executing the file")
            return names[node.id]
        case ast.List() | ast.Tuple():
            made = [_value(one, names) for one in node.elts]
            return made if isinstance(node, ast.List) else tuple(made)
        case ast.Dict():
            return {_value(k, names): _value(v, names) for k, v in zip(node.keys, node.values, strict=True) if k}
        case ast.Subscript():
            return _value(node.value, names)[_value(node.slice, names)]
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, names)
        case ast.BinOp() if type(node.op) in _OPERATIONS:
            left, right = _value(node.left, names), _value(node.right, names)
            both = isinstance(left, (int, float)) and isinstance(right, (int, float))
            if not both and (not isinstance(node.op, ast.Add) or len(left) + len(right) > 100_000):
                raise ValueError("is no sum of texts or lists of a sensible length")
            made = _OPERATIONS[type(node.op)](left, right)
            if isinstance(made, int) and abs(made) > 10**18:
                raise ValueError("is larger than any setting")  # Python refuses to write out what grows without end
            return made
        case ast.Call(func=ast.Name(id="range"), args=[one]):
            count = int(_value(one, names))
            if count > 1_000_000:
                raise ValueError("too many values")
            return list(range(count))
        case ast.Call(func=ast.Name(id="list"), args=[one], keywords=[]):
            return list(_value(one, names))
        case ast.Call(func=ast.Name(id="str"), args=[one]):
            return str(_value(one, names))
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), one]):
            return [str(each) for each in _value(one, names)]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(glue)), attr="join"), args=[one]):
            return glue.join(str(each) for each in _value(one, names))
    raise ValueError("is computed; it is not read, since nothing is executed")


def varied(config: Config) -> list[tuple[str, list[dict[str, Any]]]]:
    """Parameters that vary, each with the V_ variables of every value."""
    made = []
    parameters = config.values.get("TPCONF_parameter_list", {})
    names = config.values.get("TPCONF_vary_parameters", [])
    if not _texts(names):
        raise config.wrong("TPCONF_vary_parameters", "a list of names is wanted")
    if names and "TPCONF_parameter_list" in config.reasons:
        raise config.wrong("TPCONF_parameter_list", config.reasons["TPCONF_parameter_list"])
    for name in names:
        entry = parameters.get(name) if isinstance(parameters, dict) else None
        if not isinstance(entry, tuple) or len(entry) != 4 or not isinstance(entry[2], list) or not entry[2]:
            raise config.wrong("TPCONF_parameter_list", f"{name!r} is not in it as (variables, names, values, more)")
        variables, _, values, more = entry
        if not _texts(variables):
            raise config.wrong(
                "TPCONF_parameter_list",
                f"{name!r}: its variables are {variables!r}; a list of names is wanted, such as ['V_delay']",
            )
        if variables == ["V_runs"]:
            continue
        rows = []
        for value in values:
            parts = value if isinstance(value, (tuple, list)) else (value,)
            if len(parts) != len(variables):
                raise config.wrong(
                    "TPCONF_parameter_list", f"{name!r}: {value!r} is no value of {', '.join(variables)}"
                )
            rows.append({**dict(zip(variables, parts, strict=True)), **(more if isinstance(more, dict) else {})})
        made.append((name, rows))
    return made


def _texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def arguments(config: Config, variable: str, number: Any, text: Any, names: Mapping[str, Any]) -> tuple[str, Settings]:
    """Read " start_iperf, client='a', duration=V_duration ": the task and its settings."""
    try:
        call = ast.parse(f"f({str(text).strip()})", mode="eval").body
        assert isinstance(call, ast.Call)
        task = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
        return task, Settings(str(number), {one.arg: _value(one.value, names) for one in call.keywords if one.arg})
    except (SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, AssertionError, RecursionError) as error:
        unread = config.reasons.get("TPCONF_variable_defaults")
        why = f"{error}; TPCONF_variable_defaults, {unread}" if unread else str(error)
        raise config.wrong(variable, f"{str(text).strip()[:80]!r}: {why}") from None


def amount(config: Config, variable: str, value: Any) -> float:
    """Read what stands at a variable as a number; of a time, its milliseconds."""
    try:
        number = float(re.sub(r"(?<=\d)ms$", "", str(value)))
    except ValueError:
        number = float("nan")
    # What is so near to nothing would be a division by it.
    if not (number == 0 or 1e-9 <= number < 1e9):
        raise config.wrong(variable, f"{value!r} is no number from 0 on")
    return number
