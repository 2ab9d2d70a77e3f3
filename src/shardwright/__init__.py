"""Elastic, sharded, fail-safe scheduled jobs for Python.

    from shardwright import Scheduler, Shard

    scheduler = Scheduler()

    @scheduler.job(cron="0 0 2 * * ?", shards=4, failover=True)
    def reindex(shard: Shard) -> None: ...

    scheduler.run()

What is promised stands in `__all__`; it is loaded when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from .errors import Cancelled as Cancelled
    from .errors import ConfigError as ConfigError
    from .errors import JobError as JobError
    from .errors import ShardwrightError as ShardwrightError
    from .jobs import JobConfig as JobConfig
    from .runtime.scheduler import Scheduler as Scheduler
    from .shard import Shard as Shard

_WHERE = {
    "Cancelled": "errors",
    "ConfigError": "errors",
    "JobConfig": "jobs",
    "JobError": "errors",
    "Scheduler": "runtime.scheduler",
    "Shard": "shard",
    "ShardwrightError": "errors",
}

__all__ = ["Cancelled", "ConfigError", "JobConfig", "JobError", "Scheduler", "Shard", "ShardwrightError"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'shardwright' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
