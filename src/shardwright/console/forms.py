"""Forms: what an author may change of a job, as a JSON schema, in the order in which it is best shown."""

from functools import cache
from typing import Any

from ..jobs import JobConfig
from .models import Schema, SettingGroup

GROUPS = {
    "schedule": ("cron", "schedule", "time_zone", "dst"),
    "work": ("shards", "item_parameters", "parameter", "description", "props"),
    "sharding": ("strategy", "static_sharding", "concurrency", "group"),
    "lateness": ("misfire", "overlap", "catch_up", "catch_up_max_age", "catch_up_max_count"),
    "failure": (
        *("failover", "monitor_execution", "delivery", "lease_lost", "timeout"),
        *("retries", "retry_delay", "retry_delay_max", "error_handler"),
    ),
    "processes": (
        *("disabled", "overwrite", "label", "pool", "pool_key", "listeners"),
        *("max_time_diff_seconds", "reconcile_interval_minutes"),
    ),
}
#: A name is for ever, and what other people's extensions keep there is theirs.
_NOT_CHANGED = {"name", "extra_configurations"}


@cache
def schema() -> Schema:
    """What the settings of a job may be."""
    told: dict[str, Any] = JobConfig.model_json_schema()
    for name in _NOT_CHANGED:
        told["properties"].pop(name, None)
    told.pop("required", None)
    groups = [SettingGroup(title=title, names=list(names)) for title, names in GROUPS.items()]
    return Schema(schema=told, groups=groups)
