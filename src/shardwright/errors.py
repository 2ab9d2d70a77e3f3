"""Every exception Shardwright raises on purpose, and what each one asks of you.

    ShardwrightError
    ├── CronError (ValueError)        a schedule that cannot be read: the field and the reason
    ├── ConfigError (ValueError)      a job's settings that cannot be: every fault at once
    ├── JobError (ValueError)         a job that cannot be declared, or is not there: what to do instead
    ├── RecipeError (ValueError)      a master or a slice that cannot be: what to do instead
    ├── OperationError (ValueError)   what an operator asked for cannot be done: why, and what could be
    │   ├── NotThere                        what it is about is not there: what is
    │   ├── NotValid                        what was asked for makes no sense, whatever stands in the registry
    │   └── Overtaken                       somebody was quicker, or may have been: look again
    ├── Failed                        a run that did not do what it should, and says why in a sentence
    ├── Cancelled                     a run was told to stop, and does (raised by `shard.raise_if_cancelled`)
    ├── MissingExtra (ImportError)    an optional part that is not installed: which one, and how to get it
    └── RegistryError                 the shared registry cannot be used
        ├── RegistryUrlError (ValueError)   the address is not one we understand
        ├── Unreachable                     nobody answers there
        ├── NotAllowed                      somebody answers, and does not let us in
        └── Unsuitable                      no place for a registry (file system, permissions, schema)

Besides these: ValueError for a caller's mistake (a path, a commit that contradicts itself), TimeoutError from
`registry.wait`, and `registry.Unread`, which is no failure but a request to read first.

A write that is refused because the world moved on is not an error: it is an outcome.
"""


class ShardwrightError(Exception):
    """The root of them all."""


class CronError(ShardwrightError, ValueError):
    """A schedule that cannot be read."""


class ConfigError(ShardwrightError, ValueError):
    """A job's settings that cannot be."""


class JobError(ShardwrightError, ValueError):
    """A job that cannot be declared, or that is not there."""


class RecipeError(ShardwrightError, ValueError):
    """A service master or a dynamic sharding that cannot take part."""


class OperationError(ShardwrightError, ValueError):
    """What an operator asked for cannot be done."""


class NotThere(OperationError):
    """What an operator named is not there."""


class NotValid(OperationError):
    """What an operator asked for makes no sense, however things stand."""


class Overtaken(OperationError):
    """What an operator asked for relies on how things stood, and they stand otherwise, or may."""


class Failed(ShardwrightError):
    """A run that did not do what it should: a script that ends with an error, an answer that is none."""


class Cancelled(ShardwrightError):
    """A run that was told to stop."""


class MissingExtra(ShardwrightError, ImportError):
    """An optional part of Shardwright that is not installed."""


class RegistryError(ShardwrightError):
    """The shared registry cannot be used."""


class RegistryUrlError(RegistryError, ValueError):
    """A registry address that is not one we understand."""


class Unreachable(RegistryError):
    """Nobody answers at the registry's address."""


class NotAllowed(RegistryError):
    """The registry answers and does not let us in."""


class Unsuitable(RegistryError):
    """The place cannot hold a registry."""
