"""The structure of the package: imports go one way, folders are packages, the reading list exists."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tvmlite"

RANK = {
    "core": 0,
    "show": 0,
    "machine": 1,
    "runtime": 2,
    "te": 3,
    "relay": 4,
    "autotune": 4,
    "techniques": 5,
    "model": 6,
    "driver": 7,
    "tuning": 8,
    "commands": 9,
    "cli": 10,
    "__main__": 11,
    "tvm": 11,
}
"""A subpackage may import from itself and from lower ranks; relay and autotune not from each other."""

HANDS_OFF = {"core": {"onnx", "xgboost", "rich"}, "runtime": {"onnx", "xgboost", "llvmlite", "rich"}}

LINKS = ("relay", "te", "autotune", "runtime")


def room_of(module: str) -> str:
    """The subpackage of ``tvmlite.x.y``: ``x``; modules next to driver.py belong to the driver."""
    parts = module.split(".")
    if len(parts) == 1:
        return "driver"
    return parts[1] if parts[1] in RANK else "driver"


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST, for_types: bool = True) -> Iterator[ast.AST]:
    """``node`` and the statements in it, without its expressions, which import nothing; unless
    ``for_types``, also without the bodies of ``if TYPE_CHECKING``, which do not run."""
    yield node
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, block, ()):
            if for_types or not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
                yield from statements(child, for_types)


def imports_of(path: Path) -> list[str]:
    """Every module imported anywhere in the file, also inside functions."""
    found = []
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "tvmlite":
                found += [f"tvmlite.{alias.name}" for alias in node.names]
            else:
                found.append(node.module or "")
    return found


FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})

FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py" or p.parent != PACKAGE)


def climbing(path: Path) -> Iterator[str]:
    """The imports of a file that its subpackage may not have."""
    module = ".".join(("tvmlite", *path.relative_to(PACKAGE).with_suffix("").parts))
    here = room_of(module)
    for name in imports_of(path):
        top = name.split(".")[0]
        there = room_of(name)
        climbs = top == "tvmlite" and there != here and RANK[there] >= RANK[here]
        if climbs or top in HANDS_OFF.get(here, ()):
            yield f"{module} imports {name}"


def test_no_module_imports_from_a_higher_layer() -> None:
    assert [line for path in FILES for line in climbing(path)] == []


def module_name(path: Path) -> str:
    parts = ("tvmlite", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """The modules of tvmlite that each module imports, also inside functions; not those for types alone."""
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        found: set[str] = set()
        for node in statements(parsed(path), for_types=False):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found.update(name if name in paths else str(node.module) for name in names)
        graph[module] = found & paths.keys() - {module}
    return graph


def circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """The strongly connected components of two nodes or more, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            component = path[path.index(node) :]
            del path[path.index(node) :]
            components.append(sorted(component))

    for node in graph:
        if node not in number:
            visit(node)
    return [one for one in components if len(one) > 1]


def test_modules_have_no_import_cycles() -> None:
    assert circles(import_graph()) == []


def test_an_import_cycle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"a"}}

    assert circles(graph) == [["a", "b", "c"]]


def test_every_folder_is_a_package_and_is_installed() -> None:
    assert all((folder / "__init__.py").exists() for folder in FOLDERS)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["setuptools"]["packages"]["find"]["include"] == ["tvmlite*"]


MOST_FILES = 15
"""The most Python files directly in a folder."""


def test_no_folder_has_too_many_files() -> None:
    counts = {folder.relative_to(PACKAGE).as_posix(): len(list(folder.glob("*.py"))) for folder in FOLDERS}

    assert {name: n for name, n in counts.items() if n > MOST_FILES} == {}


def test_the_top_of_the_package_has_only_the_driver_and_the_cli() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "cli", "driver"}


@pytest.mark.parametrize("name", LINKS)
def test_links_at_the_top_lead_into_the_package(name: str) -> None:
    assert (ROOT / name).is_symlink()
    assert (ROOT / name).resolve() == (PACKAGE / name).resolve()


def test_the_reading_list_of_the_readme_is_complete_and_in_order() -> None:
    wanted = [
        "tvmlite/driver.py",
        "tvmlite/relay/ir/nodes.py",
        "tvmlite/relay/passes/fusion/fuse.py",
        "tvmlite/relay/entry/lower.py",
        "tvmlite/te/schedule/schedule.py",
        "tvmlite/te/lowering/lower.py",
        "tvmlite/te/codegen/llvm/generator.py",
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [readme.find(f"]({name})") for name in wanted]
    assert all((ROOT / name).exists() for name in wanted)
    assert min(places) >= 0
    assert places == sorted(places)


def test_importing_the_runtime_loads_no_compiler() -> None:
    program = (
        "import sys, tvmlite.runtime\n"
        "compilers = ('llvmlite', 'onnx', 'xgboost', 'tvmlite.te', 'tvmlite.relay')\n"
        "print([m for m in compilers if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_tvmlite_loads_nothing_heavy() -> None:
    program = (
        "import sys, tvmlite\n"
        "print([m for m in ('llvmlite', 'numpy', 'onnx', 'xgboost', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
