"""What tests of programs outside the package share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Loads a program by its path below the root."""

    def load(path: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.removesuffix(".py").replace("/", "_"), ROOT / path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load
