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
    from .errors import RecipeError as RecipeError
    from .errors import ShardwrightError as ShardwrightError
    from .executors.dataflow import Dataflow as Dataflow
    from .jobs import JobConfig as JobConfig
    from .recipes.dynamic_sharding import DynamicSharding as DynamicSharding
    from .recipes.service_master import Masters as Masters
    from .recipes.service_master import ServiceMaster as ServiceMaster
    from .recipes.slicing import Slice as Slice
    from .runtime.listeners import Fire as Fire
    from .runtime.listeners import Listener as Listener
    from .runtime.scheduler import Scheduler as Scheduler
    from .shard import Shard as Shard

_WHERE = {
    "Cancelled": "errors",
    "ConfigError": "errors",
    "DynamicSharding": "recipes.dynamic_sharding",
    "Dataflow": "executors.dataflow",
    "Fire": "runtime.listeners",
    "JobConfig": "jobs",
    "JobError": "errors",
    "Listener": "runtime.listeners",
    "Masters": "recipes.service_master",
    "RecipeError": "errors",
    "Scheduler": "runtime.scheduler",
    "ServiceMaster": "recipes.service_master",
    "Shard": "shard",
    "Slice": "recipes.slicing",
    "ShardwrightError": "errors",
}

__all__ = [
    "Cancelled",
    "ConfigError",
    "Dataflow",
    "DynamicSharding",
    "Fire",
    "JobConfig",
    "JobError",
    "Listener",
    "Masters",
    "RecipeError",
    "Scheduler",
    "ServiceMaster",
    "Shard",
    "ShardwrightError",
    "Slice",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'shardwright' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
