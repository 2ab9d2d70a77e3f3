"""A bureau: a registry, an operator at it, and jobs that are written there by hand, node by node, in
ElasticJob's formats."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from shardwright import elasticjob
from shardwright.coordination.claim import Cursor
from shardwright.jobs import JobConfig
from shardwright.ops import looking
from shardwright.ops.audit import Action
from shardwright.ops.operator import Operator
from shardwright.registry import Create, Landed, Node, Put, Write, connect

numbers = itertools.count()

#: Two Java processes on machines of their own, and two of ours.
JAVA, JAVA2 = "192.0.2.2@-@25555", "192.0.2.3@-@4711"
PY, PY2 = "192.0.2.4@-@11-a", "192.0.2.5@-@12-b"

#: The smallest document that ElasticJob writes for a job.
SMALLEST = """description: ''
disabled: false
failover: false
jobName: j
jobParameter: ''
maxTimeDiffSeconds: -1
misfire: true
monitorExecution: true
overwrite: false
reconcileIntervalMinutes: 10
shardingItemParameters: ''
shardingTotalCount: 1
staticSharding: false
"""

#: One with everything in it that Java members write and we do not know, a password among it.
FULL = """cron: '*/5 * * * * ?'
description: long description that goes on and on and on and on and on past eighty
  characters to see if the emitter folds it or not, and more words here
disabled: true
failover: true
jobErrorHandlerType: LOG
jobExecutorThreadPoolSizeProviderType: SINGLE_THREAD
jobExtraConfigurations:
- !!org.apache.shardingsphere.elasticjob.kernel.tracing.yaml.YamlTracingConfiguration
  tracingStorageConfiguration: !!org.apache.shardingsphere.elasticjob.tracing.rdb.yaml.YamlDataSource
    dataSourceClassName: org.h2.jdbcx.JdbcDataSource
    props:
      user: sa
      url: jdbc:h2:mem:x;DB_CLOSE_DELAY=-1
      password: pa55word
  type: RDB
jobListenerTypes:
- L1
- L2
jobName: full
jobParameter: 'k: v # x'
jobShardingStrategyType: ROUND_ROBIN
label: lab
maxTimeDiffSeconds: 30
misfire: true
monitorExecution: true
overwrite: true
props:
  script.command.line: |-
    line1
    line2
  n: '123'
  streaming.process: 'true'
reconcileIntervalMinutes: 5
shardingItemParameters: 0=a b,1=B,2=C
shardingTotalCount: 3
staticSharding: true
timeZone: GMT+08:00
"""


def address(who: str) -> str:
    return who.partition("@")[0]


def card(who: str) -> str:
    """What ElasticJob's members say of themselves."""
    return f"jobInstanceId: {who}\nserverIp: {address(who)}\n"


class Bureau:
    """`registry` is the operator's session, `members` is another, whose ephemeral nodes are the members'."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.registry = connect(url)
        self.members = connect(url)
        self.audit: list[Action] = []
        self.operator = Operator(self.registry, who="ann", audit=self.audit.append)

    @classmethod
    def in_memory(cls) -> "Bureau":
        return cls(f"memory://bureau{next(numbers)}/prod")

    @classmethod
    def in_a_file(cls, folder: Path) -> "Bureau":
        folder.chmod(0o700)
        return cls(f"sqlite://{folder / 'registry.db'}?namespace=prod")

    @classmethod
    def on_zookeeper(cls, hosts: str) -> "Bureau":
        return cls(f"zookeeper://{hosts}/bureau{next(numbers)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.members.close()
        self.registry.close()

    # -- by hand ------------------------------------------------------------------------------------

    def path(self, path: str, job: str = "j") -> str:
        """Where a node of a job is; a tilde begins those of ours."""
        namespace = self.registry.namespace
        if path.startswith("~~"):
            return f"{namespace}~shardwright/{job}/{path[2:]}"
        if path.startswith("~"):
            return f"{namespace}~shardwright/{job}/watched/{path[1:]}"
        return f"{namespace}/{job}/{path}" if path else f"{namespace}/{job}"

    def land(self, *writes: Write) -> None:
        """Have somebody else write."""
        outcome = self.members.wait(self.members.commit(*writes))
        assert isinstance(outcome, Landed), outcome

    def put(self, nodes: Mapping[str, str], job: str = "j", *, ephemeral: bool = False) -> None:
        self.land(*(Create(self.path(path, job), data, ephemeral) for path, data in nodes.items()))

    def set(self, path: str, data: str, job: str = "j") -> None:
        self.land(Put(self.path(path, job), data))

    def job(
        self, text: str = SMALLEST, *who: str, job: str = "j", owners: Mapping[int, str] | None = None
    ) -> None:
        """A job with this document, and who is in it; shards belong to the owners."""
        self.put({"": "com.acme.Job", "config": text}, job)
        for each in who:
            self.join(each, job)
        for item, owner in (owners or {}).items():
            self.put({f"sharding/{item}/instance": owner}, job)

    def of(
        self, *who: str, job: str = "j", owners: Mapping[int, str] | None = None, **settings: object
    ) -> None:
        """A job with these settings."""
        config = JobConfig.of({"name": job, **settings})
        self.job(elasticjob.write_config(config), *who, job=job, owners=owners)

    def join(self, who: str, job: str = "j") -> None:
        if self.read(f"servers/{address(who)}", job) is None:
            self.put({f"servers/{address(who)}": "ENABLED"}, job)
        self.put({f"instances/{who}": card(who)}, job, ephemeral=True)
        if "-" in who.partition("@-@")[2]:
            self.put({f"~alive/{who}": ""}, job, ephemeral=True)

    def cursor(self, item: int, cursor: Cursor, job: str = "j") -> None:
        """How far a shard has come, in this making of the job."""
        root = self.members.wait(self.members.read([self.path("", job)], fresh=True))[self.path("", job)]
        assert root is not None
        self.put({f"~~cursor/{item}": replace(cursor, made=root.made).text()}, job)

    # -- what is there ------------------------------------------------------------------------------

    def read(self, path: str, job: str = "j") -> str | None:
        full = self.path(path, job)
        node = self.members.wait(self.members.read([full], fresh=True))[full]
        return node.data if node is not None else None

    def names(self, path: str, job: str = "j") -> tuple[str, ...]:
        return looking.children(self.members, self.path(path, job))

    def everything(self) -> dict[str, Node]:
        """Every node of the namespace and of ours beside it, with its version."""
        namespace = self.registry.namespace
        found = looking.trees(self.members, [namespace, f"{namespace}~shardwright"])
        return {tree.full(path): tree.node(path) for tree in found.values() for path in tree}

    def said(self) -> list[tuple[str, str, str]]:
        """What the audit was told: what, of what, and how it went."""
        return [(action.what, action.target, action.outcome) for action in self.audit]
