"""The line: commits that wait for the file, and what becomes of them."""

import sqlite3
from collections import deque
from collections.abc import Callable

from ..writes import Landed, Outcome, Refused, Unknown
from .file import File, News
from .plan import why_not
from .requests import Commit

#: The most that one statement lands, so that nobody waits long for the write lock.
GROUP_COMMITS, GROUP_BYTES = 200, 1_000_000

Settle = Callable[[Commit, Outcome], None]


class Line:
    """Commits in the order in which they came. They land in that order, many in one statement."""

    def __init__(self, settle: Settle) -> None:
        self._settle = settle
        self._waiting: deque[Commit] = deque()
        self._sent: list[Commit] = []
        self._singly = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, commit: Commit) -> None:
        self._waiting.append(commit)

    def land(self, file: File, change: Callable[[Callable[[], None]], bool]) -> bool:
        """Have the next ones land, as many as fit into one statement, unless the outcome of others is still
        to be read; False if the file did not let them in. What `change` raises leaves open whether it did."""
        if self._sent or not self._waiting:
            return True
        group = self._sent = self._next_group()
        requests = [each.plan.request(each.ref, each.session) for each in group]
        try:
            done = change(lambda: file.land(requests))
        except sqlite3.IntegrityError:
            self._sent = []
            self._try_singly(group)
            return True
        if done:
            self._singly = max(0, self._singly - 1)
        else:
            self._sent = []
            self._waiting.extendleft(reversed(group))
        return done

    def conclude(self, file: File, news: News) -> list[tuple[Commit, Outcome]]:
        """What became of the commits that were sent. What is not in the log was refused."""
        landed = {(entry.session, entry.ref): entry for entry in news.entries if entry.ref is not None}
        whys = _whys(file, [each for each in self._sent if (each.session, each.ref) not in landed])
        outcomes: list[tuple[Commit, Outcome]] = []
        for commit in self._sent:
            entry = landed.get((commit.session, commit.ref))
            if entry is not None:
                outcomes.append((commit, Landed(entry.number, tuple(entry.names))))
            elif news.complete:
                outcomes.append((commit, Refused(whys[commit.ref])))
            else:
                outcomes.append((commit, Unknown("the log was pruned before the outcome was read")))
        self._sent = []
        return outcomes

    def refuse(self, why: str, *, overdue: float | None = None) -> None:
        """Refuse those that wait, or only those that were to be let in by now: they are certain not to
        land."""
        for commit in list(self._waiting):
            if overdue is None or overdue >= commit.until:
                self._waiting.remove(commit)
                self._settle(commit, Refused(why))

    def give_up(self, why: str) -> None:
        """Those that were sent may have landed, and nobody will find out; the others have not."""
        for commit in self._sent:
            self._settle(commit, Unknown(why))
        self._sent = []
        self.refuse(why)

    def _next_group(self) -> list[Commit]:
        most = 1 if self._singly else GROUP_COMMITS
        group = [self._waiting.popleft()]
        size = group[0].size
        while self._waiting and len(group) < most and size + self._waiting[0].size <= GROUP_BYTES:
            size += self._waiting[0].size
            group.append(self._waiting.popleft())
        return group

    def _try_singly(self, group: list[Commit]) -> None:
        """A name was to be given that somebody had given by hand: the others are not to suffer for it."""
        if len(group) == 1:
            self._singly = max(0, self._singly - 1)
            self._settle(group[0], Refused("a name that was to be given is taken"))
        else:
            self._singly = len(group)
            self._waiting.extendleft(reversed(group))


def _whys(file: File, refused: list[Commit]) -> dict[int, str]:
    """Why commits were refused, by a look at the nodes they rely on."""
    if not refused:
        return {}
    nodes = file.glance(sorted({path for each in refused for path in each.plan.refers_to()}))
    children = file.names(sorted({path for each in refused for path in each.plan.childless}))
    alive = file.sessions()
    return {
        each.ref: why_not(each.plan, nodes, children) if each.session in alive else "the session has ended"
        for each in refused
    }
