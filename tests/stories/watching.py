"""What work is watched with in a story: how runs came out, as the registry tells, and who is in the midst of
one."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shardwright import Shard
from tests.recipes.heard import Heard, says

from .telling import PATIENCE, Story


class Ends:
    """How the last runs of a job's shards came out, by their cursors."""

    def __init__(self, story: Story, job: str = "job") -> None:
        self._story = story
        self._tree = story.operator.mirror(f"{story.operator.namespace}~shardwright/{job}/cursor")

    def of(self, item: int = 0) -> str:
        """Empty while the shard runs, or has not run yet."""
        told = json.loads(self._tree.get(f"{item}") or "{}")
        return "" if told.get("run") else str(told.get("last", ""))

    def until(self, *outcomes: str) -> None:
        """Wait until the shards, from the first on, have come out like this."""
        self._story.until(
            lambda: all([self.of(item) == outcome for item, outcome in enumerate(outcomes)])  # noqa: C419 - all are to be read
        )

    def until_last(self, outcome: str, item: int = 0) -> None:
        """Wait until a run came out like this, though the next may have begun."""
        self._story.until(lambda: json.loads(self._tree.get(f"{item}") or "{}").get("last") == outcome)


class Held:
    """A job's code that stays inside until it is let go or told to stop. Told to stop it does, unless it is
    not to hear of it."""

    def __init__(self) -> None:
        self.ran: list[Shard] = []
        self.inside: list[Shard] = []
        self.most = 0
        """How many there were at once."""
        self.threads: set[str] = set()
        self._free: set[Shard] = set()
        self._open = False
        self._news = threading.Condition()

    def __call__(self, shard: Shard) -> None:
        with shard.on_cancel(self._ring), self._news:
            self.ran.append(shard)
            self.inside.append(shard)
            self.most = max(self.most, len(self.inside))
            self.threads.add(threading.current_thread().name)
            self._news.notify_all()
            self._news.wait_for(lambda: self._open or shard in self._free or shard.cancelled, 3 * PATIENCE)
            self.inside.remove(shard)
            self._news.notify_all()
        shard.raise_if_cancelled()

    def until(self, enough: Callable[[], object]) -> None:
        with self._news:
            assert self._news.wait_for(enough, PATIENCE), (self.inside, self.ran)

    def let_go(self, *those: Shard) -> None:
        """Let these end, or all there are and will be."""
        with self._news:
            self._free.update(those)
            self._open = self._open or not those
            self._news.notify_all()

    def one_after_the_other(self, most: int, of: int) -> None:
        """Let so many runs come and go. One is let go when as many are inside as there may be: so the next
        takes the place that it leaves, and one too many would be seen."""
        for left in range(of, 0, -1):
            self.until(lambda left=left: len(self.inside) == min(most, left))  # type: ignore[misc]
            self.let_go(gone := self.inside[0])
            self.until(lambda gone=gone: gone not in self.inside)  # type: ignore[misc]
        self.until(lambda: not self.inside)
        assert (self.most, len(self.ran)) == (most, of)

    def _ring(self) -> None:
        # Whoever waits holds the lock only while it looks, and this is called by another thread.
        with self._news:
            self._news.notify_all()


def changed(story: Story, heard: Heard[str], old: str, new: str) -> None:
    """Have the job's settings edited in the registry, and wait until its only member goes by them."""
    before = len(heard.all)
    story.reconfigure(old, new)
    heard.until(lambda lines: says("job: its settings have changed")(lines[before:]))


def notes(path: Path) -> list[dict[str, Any]]:
    """What processes noted in a file, line by line, as far as the lines are whole."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
