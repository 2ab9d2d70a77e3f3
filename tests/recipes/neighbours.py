"""Neighbours: the two documents that the recipes come from, followed step by step with plain kazoo, as
somebody in another language would who knows nothing of Shardwright."""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

import yaml
from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from .heard import Heard


class Client:
    """One with a session of its own."""

    def __init__(self, hosts: str) -> None:
        self.client = KazooClient(hosts, timeout=10.0)

    def __enter__(self) -> Self:
        self.client.start()
        self.begin()
        return self

    def begin(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.stop()
        self.client.close()


class Candidate(Client):
    """The fourth document's candidate: creating the node is the election; who finds it watches it."""

    def __init__(self, hosts: str, path: str, address: str) -> None:
        super().__init__(hosts)
        self.is_master: Heard[bool] = Heard()
        self._path, self._address = path, address

    def begin(self) -> None:
        self.client.ensure_path(self._path.rpartition("/")[0])
        self._run_for_master()

    def _run_for_master(self) -> None:
        try:
            self.client.create(self._path, self._address.encode(), ephemeral=True)
            self.is_master(True)
        except NodeExistsError:
            self.is_master(False)
            self._master_exists()

    def _master_exists(self) -> None:
        if self.client.exists(self._path, watch=self._watched) is None:
            self._run_for_master()
        else:
            self._check_master()

    def _watched(self, event: WatchedEvent) -> None:
        if event.type == EventType.DELETED:
            self._run_for_master()

    def _check_master(self) -> None:
        try:
            data, _ = self.client.get(self._path)
            self.is_master(data.decode() == self._address)
        except NoNodeError:
            self._run_for_master()


class Member(Client):
    """The fifth document's member: it listens, stands for leader, says that it is there; flags when members
    come or go, and as leader shares out in one transaction, in the order of the ids."""

    def __init__(self, hosts: str, root: str, ip: str, pid: int) -> None:
        super().__init__(hosts)
        self.told: Heard[str] = Heard()
        self._id, self._ip, self._root = f"{ip}@-@{pid}", ip, root
        self._instances: list[str] = []
        self._flagged = self._paused = self._ended = False
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=self._id, daemon=True)

    def begin(self) -> None:
        for parent in ("instances", "leader/election", "leader/sharding", "sharding"):
            self.client.ensure_path(f"{self._root}/{parent}")
        self._look()
        self._elect()
        card = f"instanceId: {self._id}\nserverIp: {self._ip}\n"
        self.client.create(f"{self._root}/instances/{self._id}", card.encode(), ephemeral=True)
        self._thread.start()

    def leave(self) -> None:
        self._ended = True
        self._news.set()
        self._thread.join(10)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
        super().__exit__(kind, error, trace)

    # The listeners

    def _listen(self) -> None:
        while not self._ended:
            self._news.clear()
            self._look()
            self._news.wait()

    def _look(self) -> None:
        instances = sorted(self.client.get_children(f"{self._root}/instances", watch=self._wake))
        if not self._there("leader/election/instance") and self._id in instances:
            self._elect()
        if instances != self._instances and self._leads():
            self._make("leader/sharding/necessary")
        self._instances = instances
        necessary = self._there("leader/sharding/necessary")
        processing = self._there("leader/sharding/processing")
        flagged, self._flagged = self._flagged, False
        if (necessary or flagged) and not self._paused:
            self._paused = True
            self.told("start")
        if necessary and self._leads():
            self._share_out()
            self._news.set()
        elif self._paused and not necessary and not processing:
            self._paused = False
            self.told(self._completed())
        elif not necessary and not processing and self._missed_a_round():
            self.told("start")
            self.told(self._completed())

    def _missed_a_round(self) -> bool:
        """A watch is set again after it went off, and a whole round may pass between the two. Their cache
        reads everything again then, and so finds other slices than it knew."""
        self.client.get_children(f"{self._root}/sharding", watch=self._wake)
        return bool(self.told.all) and self.told.all[-1] not in ("start", self._completed())

    def _completed(self) -> str:
        names = self.client.get_children(f"{self._root}/sharding")
        for name in names:
            with suppress(NoNodeError):
                if self.client.get(f"{self._root}/sharding/{name}/instance")[0].decode() == self._id:
                    return f"{name} of {len(names)}"
        return "nothing"

    def _wake(self, event: WatchedEvent) -> None:
        self._flagged |= event.type == EventType.CREATED and event.path.endswith("/necessary")
        self._news.set()

    # What they do

    def _elect(self) -> None:
        with suppress(NodeExistsError):
            self.client.create(f"{self._root}/leader/election/instance", self._id.encode(), ephemeral=True)

    def _share_out(self) -> None:
        there = sorted(self._instance_id(name) for name in self._instances)
        self._make("leader/sharding/processing", ephemeral=True)
        for name in self.client.get_children(f"{self._root}/sharding"):
            with suppress(NoNodeError):
                self.client.delete(f"{self._root}/sharding/{name}/instance")
        for number in range(len(there)):
            self.client.ensure_path(f"{self._root}/sharding/{number}")
        together = self.client.transaction()
        for number, who in enumerate(there):
            together.create(f"{self._root}/sharding/{number}/instance", who.encode())
        for flag in ("necessary", "processing"):
            together.delete(f"{self._root}/leader/sharding/{flag}")
        together.commit()

    def _instance_id(self, name: str) -> str:
        return str(yaml.safe_load(self.client.get(f"{self._root}/instances/{name}")[0])["instanceId"])

    def _there(self, path: str) -> bool:
        return self.client.exists(f"{self._root}/{path}", watch=self._wake) is not None

    def _make(self, path: str, *, ephemeral: bool = False) -> None:
        with suppress(NodeExistsError):
            self.client.create(f"{self._root}/{path}", ephemeral=ephemeral)

    def _leads(self) -> bool:
        try:
            return bool(self.client.get(f"{self._root}/leader/election/instance")[0].decode() == self._id)
        except NoNodeError:
            return False
