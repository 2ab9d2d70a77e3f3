"""Who may import whom, and what may be done nowhere: read from the source, which is not run.

Imports point down, floor by floor. Each rule is a function from sources to complaints, so that every one of
them can be shown to fail on a small made-up package.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import shardwright

Sources = Mapping[str, str]  # what each file says, by its path below the package
Rule = Callable[[Sources], Iterator[str]]

FLOORS: tuple[set[str], ...] = (
    {"errors", "clock", "logs", "forks"},
    {"registry"},  # and beside it, strangers to it, the WORDS: every module at the top that is not named here
    {"coordination"},
    {"executors", "alerts", "history"},
    {"runtime", "ops", "recipes"},
    {"console"},
    {"cli", "testing", "__main__", "shardwright"},  # the last is __init__, the public names
)
NAMED = {part for parts in FLOORS for part in parts}
WORDS = 1
NEIGHBOURS = {("recipes", "runtime"), ("ops", "recipes")}
STRANGERS = {("console", "runtime")}  # it looks and steers, and runs nothing
KAZOO_MAY_LIVE_IN = re.compile(r"registry/zookeeper(_\w+)?\.py|registry/zookeeper/\w+\.py")
UNKNOWN_TO_COORDINATION = {
    *("time", "sched", "threading", "asyncio", "concurrent", "queue", "multiprocessing", "subprocess"),
    *("socket", "select", "selectors", "ssl", "http", "urllib", "os", "random", "secrets"),
    *("sqlite3", "kazoo", "logging"),
}
WORDS_OF_JOBS = re.compile(r"(^|_)(jobs?|shards?|sharding|cron|failover|misfire)(_|$)", re.IGNORECASE)
SERVER = {"fastapi", "starlette", "uvicorn", "joserfc"}
WITHOUT_A_SERVER = {"settings", "accounts", "roles"}
MAY_READ_THE_WALL_CLOCK = {"clock.py"}


# What a source says


def module_of(path: str) -> str:
    """registry/tree.py is shardwright.registry.tree, registry/__init__.py is shardwright.registry."""
    return ".".join(["shardwright", *Path(path).with_suffix("").parts]).removesuffix(".__init__")


def imports(path: str, sources: Sources, *, at_the_top_only: bool = False) -> set[str]:
    """The modules a file imports, by their full names."""
    tree = ast.parse(sources[path])
    package = module_of(path) if path.endswith("__init__.py") else module_of(path).rpartition(".")[0]
    ours = {module_of(each) for each in sources}
    found: set[str] = set()
    for node in tree.body if at_the_top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            names = {f"{origin}.{alias.name}" for alias in node.names}
            found |= (names & ours) | ({origin} if names - ours else set())
    return found


def part_of(module: str) -> str:
    """The sub-package a module belongs to, or the module itself if it stands at the top."""
    return "shardwright" if module == "shardwright" else module.split(".")[1]


def floor_of(part: str) -> int:
    return next((number for number, parts in enumerate(FLOORS) if part in parts), WORDS)


# The rules


def imports_point_down(sources: Sources) -> Iterator[str]:
    for path in sources:
        importer = part_of(module_of(path))
        for module in imports(path, sources):
            if module.split(".")[0] == "shardwright" and not may_import(importer, part_of(module)):
                yield f"{path} imports {module}"


def may_import(importer: str, imported: str) -> bool:
    if importer == imported or (importer, imported) in NEIGHBOURS:
        return True
    if (importer, imported) in STRANGERS:
        return False
    if floor_of(importer) != floor_of(imported):
        return floor_of(importer) > floor_of(imported)
    is_word = importer not in NAMED and imported not in NAMED
    return is_word or floor_of(importer) in (0, len(FLOORS) - 1)


def every_package_has_a_floor(sources: Sources) -> Iterator[str]:
    for package in {Path(path).parts[0] for path in sources if "/" in path} - NAMED:
        yield f"{package}/ has no place in FLOORS"


def imports_make_no_circle(sources: Sources) -> Iterator[str]:
    edges = {module_of(path): imports(path, sources, at_the_top_only=True) for path in sources}
    while leaves := {module for module, imported in edges.items() if not (imported - {module}) & set(edges)}:
        for leaf in leaves:
            del edges[leaf]
    if edges:
        yield f"these import each other: {', '.join(sorted(edges))}"


def kazoo_is_imported_in_one_module(sources: Sources) -> Iterator[str]:
    homes = [path for path in sources if "kazoo" in {name.split(".")[0] for name in imports(path, sources)}]
    yield from (f"{path} imports kazoo" for path in homes if not KAZOO_MAY_LIVE_IN.fullmatch(path))
    if len(homes) > 1:
        yield f"kazoo is imported in {len(homes)} modules: {', '.join(homes)}"


def only_the_console_knows_its_server(sources: Sources) -> Iterator[str]:
    for path in sources:
        if path.startswith("console/"):
            continue
        for name in {module.split(".")[0] for module in imports(path, sources)} & SERVER:
            yield f"{path} imports {name}"


def what_is_told_at_the_start_needs_no_server(sources: Sources) -> Iterator[str]:
    """The command line loads these also where the extra is not installed."""
    for path in sources.keys() & {f"console/{name}.py" for name in ("__init__", *WITHOUT_A_SERVER)}:
        for module in imports(path, sources):
            ours = module.startswith("shardwright.console")
            if module.split(".")[0] in SERVER or (ours and module.split(".")[-1] not in WITHOUT_A_SERVER):
                yield f"{path} imports {module}"


def coordination_is_pure(sources: Sources) -> Iterator[str]:
    for path in sources:
        if not path.startswith("coordination/"):
            continue
        for name in {module.split(".")[0] for module in imports(path, sources)} & UNKNOWN_TO_COORDINATION:
            yield f"{path} imports {name}"
        for call in calls(sources[path]):
            if re.fullmatch(r"(datetime\.)*(datetime|date)\.(now|utcnow|today)", call):
                yield f"{path} reads the clock: {call}()"
            if re.fullmatch(r"(uuid\.)?uuid[14]", call):
                yield f"{path} leaves it to chance: {call}()"


def the_registry_knows_no_word_of_jobs(sources: Sources) -> Iterator[str]:
    for path in sources:
        if path.startswith("registry/"):
            for name in identifiers(sources[path]):
                if WORDS_OF_JOBS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)):
                    yield f"{path} speaks of {name}"


def nothing_unsafe_is_done(sources: Sources) -> Iterator[str]:
    for path, text in sources.items():
        for call in calls(text):
            if re.fullmatch(r"yaml\.(load|load_all|full_load\w*|unsafe_load\w*)|os\.(system|popen)", call):
                yield f"{path} calls {call}"
        for name in {module.split(".")[0] for module in imports(path, sources)} & {
            "pickle",
            "shelve",
            "marshal",
        }:
            yield f"{path} imports {name}"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.keyword) and node.arg == "shell" and ast.unparse(node.value) != "False":
                yield f"{path}:{node.value.lineno} starts a shell"


def the_wall_clock_is_read_in_few_places(sources: Sources) -> Iterator[str]:
    for path in sources.keys() - MAY_READ_THE_WALL_CLOCK:
        for call in calls(sources[path]):
            if call in ("time.time", "time.time_ns"):
                yield f"{path} calls {call}"
        if re.search(r"^\s*from time import .*\btime\b", sources[path], re.MULTILINE):
            yield f"{path} imports time.time"


def calls(text: str) -> list[str]:
    """What is called, as it is written: yaml.load, open, datetime.datetime.now."""
    return [ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]


def identifiers(text: str) -> Iterator[str]:
    """Every name a source gives to something or calls something by."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


RULES: list[Rule] = [
    imports_point_down,
    every_package_has_a_floor,
    imports_make_no_circle,
    kazoo_is_imported_in_one_module,
    only_the_console_knows_its_server,
    what_is_told_at_the_start_needs_no_server,
    coordination_is_pure,
    the_registry_knows_no_word_of_jobs,
    nothing_unsafe_is_done,
    the_wall_clock_is_read_in_few_places,
]


def our_sources() -> dict[str, str]:
    root = Path(shardwright.__file__).parent
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*.py")}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_our_sources_keep_the_rule(rule: Rule) -> None:
    sources = our_sources()
    assert "errors.py" in sources
    assert list(rule(sources)) == []


# That each rule can fail

ERRORS = {"errors.py": "", "__init__.py": "", "registry/__init__.py": "", "runtime/__init__.py": ""}

BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (
        imports_point_down,
        {"errors.py": "import shardwright.jobs", "jobs.py": ""},
        "errors.py imports shardwright.jobs",
    ),
    (imports_point_down, {"jobs.py": "from .registry import tree"}, "jobs.py imports shardwright.registry"),
    (
        imports_point_down,
        {"registry/tree.py": "from shardwright import jobs", "jobs.py": ""},
        "registry/tree.py imports shardwright.jobs",
    ),
    (
        imports_point_down,
        {"registry/sql/one.py": "from ...coordination import leader", "coordination/leader.py": ""},
        "registry/sql/one.py imports shardwright.coordination.leader",
    ),
    (
        imports_point_down,
        {"runtime/work.py": "def f():\n    from ..ops import jobs", "ops/jobs.py": ""},
        "runtime/work.py imports shardwright.ops.jobs",
    ),
    (
        imports_point_down,
        {"ops/jobs.py": "from .. import runtime"},
        "ops/jobs.py imports shardwright.runtime",
    ),
    (
        imports_point_down,
        {"coordination/x.py": "from .. import cli", "cli.py": ""},
        "coordination/x.py imports shardwright.cli",
    ),
    (imports_point_down, {"jobs.py": "from . import __version__"}, "jobs.py imports shardwright"),
    (
        imports_point_down,
        {"console/desk.py": "from .. import runtime"},
        "console/desk.py imports shardwright.runtime",
    ),
    (
        imports_point_down,
        {"console/desk.py": "from ..cli import places", "cli/places.py": ""},
        "console/desk.py imports shardwright.cli.places",
    ),
    (
        imports_point_down,
        {"runtime/work.py": "from ..console import desk", "console/desk.py": ""},
        "runtime/work.py imports shardwright.console.desk",
    ),
    (
        only_the_console_knows_its_server,
        {"runtime/work.py": "def f():\n    from fastapi import FastAPI"},
        "runtime/work.py imports fastapi",
    ),
    (
        what_is_told_at_the_start_needs_no_server,
        {"console/settings.py": "from .gate import Gate", "console/gate.py": ""},
        "console/settings.py imports shardwright.console.gate",
    ),
    (every_package_has_a_floor, {"utils/strings.py": ""}, "utils/ has no place in FLOORS"),
    (
        imports_make_no_circle,
        {"a.py": "from . import b", "b.py": "from .c import x", "c.py": "import shardwright.a", "d.py": ""},
        "these import each other: shardwright.a, shardwright.b, shardwright.c",
    ),
    (
        kazoo_is_imported_in_one_module,
        {"runtime/work.py": "from kazoo.client import KazooClient"},
        "runtime/work.py imports kazoo",
    ),
    (
        kazoo_is_imported_in_one_module,
        {"registry/zookeeper/a.py": "import kazoo", "registry/zookeeper/b.py": "import kazoo.client"},
        "kazoo is imported in 2 modules: registry/zookeeper/a.py, registry/zookeeper/b.py",
    ),
    (
        coordination_is_pure,
        {"coordination/leader.py": "import random"},
        "coordination/leader.py imports random",
    ),
    (
        coordination_is_pure,
        {"coordination/leader.py": "from concurrent.futures import Future"},
        "coordination/leader.py imports concurrent",
    ),
    (
        coordination_is_pure,
        {"coordination/leader.py": "datetime.now(UTC)"},
        "coordination/leader.py reads the clock: datetime.now()",
    ),
    (
        coordination_is_pure,
        {"coordination/latch.py": "import uuid\nuuid.uuid5(us, me), uuid.uuid4()"},
        "coordination/latch.py leaves it to chance: uuid.uuid4()",
    ),
    (
        the_registry_knows_no_word_of_jobs,
        {"registry/tree.py": "def children_of_job(): ..."},
        "registry/tree.py speaks of children_of_job",
    ),
    (
        the_registry_knows_no_word_of_jobs,
        {"registry/tree.py": "class JobTree: ..."},
        "registry/tree.py speaks of JobTree",
    ),
    (nothing_unsafe_is_done, {"jobs.py": "yaml.load(text, Loader)"}, "jobs.py calls yaml.load"),
    (nothing_unsafe_is_done, {"jobs.py": "import pickle as p"}, "jobs.py imports pickle"),
    (nothing_unsafe_is_done, {"jobs.py": "\nrun('ls', shell=True)"}, "jobs.py:2 starts a shell"),
    (nothing_unsafe_is_done, {"jobs.py": "os.system('ls')"}, "jobs.py calls os.system"),
    (the_wall_clock_is_read_in_few_places, {"jobs.py": "x = time.time()"}, "jobs.py calls time.time"),
    (the_wall_clock_is_read_in_few_places, {"jobs.py": "from time import time"}, "jobs.py imports time.time"),
]


@pytest.mark.parametrize(
    ("rule", "sources", "complaint"), BROKEN, ids=[complaint for _, _, complaint in BROKEN]
)
def test_what_breaks_the_rule_is_named(rule: Rule, sources: dict[str, str], complaint: str) -> None:
    assert list(rule(ERRORS | sources)) == [complaint]


def test_what_keeps_the_rules_passes() -> None:
    sources = {
        "__init__.py": "from .runtime.scheduler import Scheduler",
        "errors.py": "",
        "clock.py": "import time\ntime.time()",
        "cron.py": "from .errors import CronError",
        "jobs.py": "from . import cron, errors",
        "registry/__init__.py": "from .tree import Tree\ndef connect():\n    from .zookeeper import driver",
        "registry/tree.py": "from ..clock import Clock\nfrom ..errors import RegistryError",
        "registry/zookeeper/__init__.py": "",
        "registry/zookeeper/driver.py": "import kazoo.client\nfrom .. import Tree",
        "coordination/__init__.py": "",
        "coordination/view.py": "from datetime import datetime\nfrom ..jobs import JobConfig\nview.now",
        "coordination/leader.py": "from . import view\nfrom ..registry import Tree",
        "runtime/__init__.py": "",
        "runtime/scheduler.py": "from shardwright.coordination import leader\nimport threading",
        "recipes/master.py": "from ..runtime import scheduler",
        "cli.py": "from . import console\nfrom .runtime import scheduler\nyaml.safe_load(text)",
        "console/__init__.py": "",
    }
    assert [complaint for rule in RULES for complaint in rule(sources)] == []
