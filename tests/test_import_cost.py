"""What `import shardwright` costs: which packages it pulls in, how many modules, and roughly how long."""

import subprocess
import sys
import time

# Each name here costs every one of our users, whatever part of us they use. No extra ever belongs here.
PACKAGES = {"shardwright"}
EXTRAS = {"kazoo", "puresasl", "cron_descriptor"}
CONSOLE = {"fastapi", "starlette", "uvicorn", "joserfc", "anyio"}

LOADED = "import sys; print(*sys.modules)"


def modules_after(statement: str) -> set[str]:
    """What a fresh interpreter has loaded when it has run the statement."""
    output = subprocess.run([sys.executable, "-c", f"{statement}\n{LOADED}"], capture_output=True, check=True)
    return set(output.stdout.decode().split())


def seconds_for(statement: str) -> float:
    """The best of five, start of the interpreter included."""

    def once() -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - begin

    return min(once() for _ in range(5))


def test_importing_us_loads_these_packages_and_no_other() -> None:
    new = modules_after("import shardwright") - modules_after("")
    packages = {name.partition(".")[0] for name in new} - sys.stdlib_module_names
    assert packages == PACKAGES
    assert not packages & EXTRAS


def test_a_worker_loads_nothing_of_the_console() -> None:
    worker = (
        "from shardwright import Scheduler\nimport shardwright.runtime.scheduler, shardwright.history.store"
    )
    loaded = modules_after(worker)
    assert not {name.partition(".")[0] for name in loaded} & CONSOLE
    assert not {name for name in loaded if name.startswith("shardwright.console")}


def test_importing_us_loads_few_modules_beside_a_bare_interpreter() -> None:
    assert len(modules_after("import shardwright")) <= 10 * len(modules_after(""))


def test_importing_us_takes_little_time_beside_a_bare_interpreter() -> None:
    assert seconds_for("import shardwright") <= 30 * seconds_for("")
