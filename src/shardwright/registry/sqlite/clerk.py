"""The clerk: the one thread that touches the file. It takes what came in, does it, and tells what is new.

A turn goes: end the sessions of the dead; land the commits that wait, in one statement; answer questions;
read the log from where it was read last; then leave all of that for the owner, in the order in which it
happened. Between turns it waits for work, and looks by `data_version` whether others have changed the file.
"""

import os
import queue
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...clock import Clock
from ...errors import RegistryError
from ...logs import Log
from ..tree import Node
from ..writes import Outcome
from . import liveness, place, schema
from .file import File
from .holder import Blockade
from .keeper import Keeper
from .line import Line
from .liveness import Tenure
from .requests import Anew, Broke, Commit, Died, Follow, Mail, Note, Question, Read, Request, Stop

log = Log("shardwright.registry.sqlite")

T = TypeVar("T")

#: Seconds between two looks at a file that was changed within the last second, and at one at rest.
QUICK, SLOW = 0.005, 0.04
_QUICK_FOR = 1.0

#: So many rows of the log are kept; it is pruned when so many more have come. Who falls further behind
#: reads its mirrors anew.
KEPT, PRUNED_EVERY = 4096, 1024

#: How many mirrors, and how many nodes, are read by one statement at most.
ROOTS, NODES = 100, 1000

#: Seconds between two tries after a failure, and between two looks whether the file is where it was.
_TRY_AGAIN_AFTER = 0.25
_LOOK_FOR_FILE_EVERY = 1.0

#: The longest we wait for the lock to say that we leave.
_LEAVE_WITHIN = 2.0


class _Moved(Exception):
    """The file is not where it was."""


#: What files do to those who use them; anything else is a fault of ours, or of the machine.
_EXPECTED = sqlite3.Error, OSError, RegistryError, _Moved


class Clerk:
    """Keeps the file, our session on it and the place in the log up to which it was read."""

    def __init__(
        self,
        path: Path,
        mail: Mail,
        clock: Clock,
        *,
        timeout: float,
        patience: float,
        end_stopped: bool,
        plant: str | None,
    ) -> None:
        self._path, self._mail, self._clock = path, mail, clock
        self._timeout, self._patience, self._plant = timeout, patience, plant
        self._trouble = ""
        self._blockade = Blockade(path, end_stopped=end_stopped)

        self._in: queue.SimpleQueue[tuple[Request, ...]] = queue.SimpleQueue()
        self._line = Line(self._settle)
        self._follows: list[Follow] = []
        self._reads: list[Read] = []
        self._questions: list[Question] = []
        self._dead: dict[str, str] = {}
        self._stopping = False

        self._file: File | None
        self._file, self._folder = self._open(patience)
        self._tenure: Tenure | None = None
        self._entered = False
        self._sessions: dict[str, float] = {}
        self._position = 0
        self._version = -1
        self._wrote = False
        self._changed_at = self._looked_for_file_at = clock.boot()

        self._keeper = Keeper(
            self._folder,
            clock,
            died=lambda session, why: self.put(Died(session, why)),
            robbed=lambda session: self.put(Anew(session, "its lock file was deleted")),
            broke=lambda error: self.put(Broke(error)),
        )
        self._thread = threading.Thread(target=self._run, name="registry clerk", daemon=True)

    # -- what others call ---------------------------------------------------------------------------

    @property
    def trouble(self) -> str:
        """What is in the way at present, in words."""
        return self._trouble or self._blockade.trouble

    def start(self) -> None:
        try:
            self._keeper.start()
            self._thread.start()
        except BaseException:  # the system has no threads left, and nobody else would close the file
            self._keeper.stop()
            if self._file is not None:
                self._file.close()
            raise

    def put(self, *requests: Request) -> None:
        """Any thread may; what is put together is found together."""
        self._in.put(requests)

    def stop(self, within: float) -> None:
        self.put(Stop())
        self._thread.join(within)
        if self._thread.is_alive():
            self._keeper.stop(wait=False)  # as long as our heart beats the session does not end
            log.error("%s: the disk does not answer; the session is left to end by itself", self._path)

    # -- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
                self._take(self._pause())
            self._leave()
        except BaseException as error:
            self._end(error)
        finally:
            self._keeper.stop()
            if self._file is not None:
                self._file.close()

    def _end(self, error: BaseException) -> None:
        """There is no going on. Whatever else fails, the owner is told, so that all is made anew."""
        try:
            self._trouble = f"a thread of the registry has ended: {error!r}"
            self._give_up_all(self._trouble)
            self._mail.tell([self._mail.lost()])
        finally:
            self._mail.broke(error)
        log.critical("%s: the registry gives up over a fault of its own", self._path, exc_info=error)

    def _pause(self) -> float:
        if self._blockade.trouble:
            # We have just waited for the lock, inside SQLite.
            return SLOW if self._blockade.is_long else 0.0
        if not self._entered or self._dead:
            return _TRY_AGAIN_AFTER if self._trouble else 0.0
        if self._line:
            return 0.0
        return QUICK if self._clock.boot() < self._changed_at + _QUICK_FOR else SLOW

    def _take(self, pause: float) -> None:
        """All that came in, waiting a while for the first of it."""
        try:
            self._sort(self._in.get(timeout=pause) if pause else self._in.get_nowait())
            while True:
                self._sort(self._in.get_nowait())
        except queue.Empty:
            pass

    def _sort(self, requests: tuple[Request, ...]) -> None:
        for request in requests:
            self._sort_one(request)

    def _sort_one(self, request: Request) -> None:
        match request:
            case Commit():
                self._line.add(request)
            case Follow():
                self._follows.append(request)
            case Read():
                self._reads.append(request)
            case Question():
                self._questions.append(request)
            case Died(session, why):
                self._dead[session] = why
            case Anew(session, why):
                if self._tenure is not None and self._tenure.session.id == session:
                    log.warning("%s: our session %s is given up: %s", self._path, session, why)
                    self._dead[session] = why
                    self._abandon()
            case Broke(error):
                raise error
            case Stop():
                self._stopping = True

    def _turn(self) -> None:
        """One round. What goes wrong is told, and tried again later, whatever it is: nobody else would."""
        try:
            try:
                self._go_round()
            except sqlite3.OperationalError as error:
                if not schema.is_busy(error):
                    raise
                self._blockade.meet(self._clock.boot())
        except Exception as error:
            self._fall(error)

    def _go_round(self) -> None:
        file = self._file or self._reopen()
        self._end_the_dead(file)
        if not self._entered:
            self._enter(file)
        if self._entered:
            self._land(file)
            self._tell(file)
        self._check_place(file)
        if self._entered and not self._line and not self._dead:
            self._blockade.lift()  # nobody waits for the lock any more

    # -- our session --------------------------------------------------------------------------------

    def _enter(self, file: File) -> None:
        """Take a session: first the lock file, so that whoever sees the session sees it alive."""
        if self._tenure is not None and self._tenure.session.lease_left() <= 0:
            self._abandon()
        if self._tenure is None:
            sessions = file.sessions()
            liveness.sweep(self._folder, sessions)
            self._tenure = self._new_tenure()
            self._keeper.hold(self._tenure)
            # Who asks once and goes has no time for the keeper's first look, and is not to meet the dead.
            self._dead.update(liveness.ended(self._folder, sessions, self._clock.boot()))
            self._end_the_dead(file)
        if self._dead:
            return
        session = self._tenure.session.id
        if self._change(lambda: file.begin(session, os.getpid(), self._timeout)):
            self._join(file, self._tenure)

    def _join(self, file: File, tenure: Tenure) -> None:
        """We are in: from here on follow the log, and let every mirror be read."""
        self._version = file.data_version()
        self._position = file.head()
        self._meet(file)
        self._entered = True
        self._mail.tell([self._mail.connected(tenure.session)])

    def _new_tenure(self) -> Tenure:
        while True:
            try:
                return Tenure(self._folder, secrets.token_hex(8), self._timeout, self._clock)
            except BlockingIOError:
                continue

    def _abandon(self) -> None:
        """Our session is over: say so, and take another in the next turn."""
        self._line.give_up("the session has ended")
        self._tenure = None
        self._entered = False
        self._keeper.hold(None)
        self._mail.tell([self._mail.lost()])

    def _meet(self, file: File) -> bool:
        """Look who is in; whether we still are."""
        self._sessions = file.sessions()
        ours = self._tenure.session.id if self._tenure is not None else ""
        self._keeper.watch({id: timeout for id, timeout in self._sessions.items() if id != ours})
        return ours in self._sessions

    def _leave(self) -> None:
        """End our session at once; if the file does not let us, whoever sees our lock gone does it."""
        self._give_up_all("the registry was closed")
        file, tenure = self._file, self._tenure
        if file is None or tenure is None or not self._entered:
            return
        end = self._clock.boot() + min(self._patience, _LEAVE_WITHIN)
        try:
            while not self._change(lambda: file.end([tenure.session.id])):
                if self._trouble or self._clock.boot() > end:
                    return
        except sqlite3.Error as error:
            log.warning("%s: the session is left to end by itself: %s", self._path, error)

    # -- changes ------------------------------------------------------------------------------------

    def _change(self, change: Callable[[], None]) -> bool:
        """Try a change of the file. False if somebody else has the lock, or there is no room on the disk:
        then it was certainly not done. Other errors leave that open."""
        try:
            change()
        except sqlite3.OperationalError as error:
            if schema.is_busy(error):
                self._blockade.meet(self._clock.boot())
            elif is_full(error):
                self._blockade.lift()
                self._say(f"{self._path}: there is no room left on the disk: make some")
            else:
                raise
            return False
        self._blockade.lift()
        self._trouble = ""
        self._wrote = True
        return True

    def _end_the_dead(self, file: File) -> None:
        """End the sessions of the dead, whoever else does the same."""
        doomed = list(self._dead)
        if not doomed or not self._change(lambda: file.end(doomed)):
            return
        for session, why in self._dead.items():
            say = log.debug if why in liveness.IN_ORDER else log.info
            say("%s: session %s is ended: %s", self._path, session, why)
        self._dead.clear()
        liveness.remove(self._folder, doomed)

    def _land(self, file: File) -> None:
        """Land the commits that wait. Where the disk is full there is nothing to wait for."""
        if not self._line.land(file, self._change):
            self._line.refuse(self.trouble, overdue=None if self._trouble else self._clock.boot())

    def _prune(self, file: File, up_to: int) -> None:
        try:
            file.prune(up_to)
        except sqlite3.OperationalError as error:
            if not (schema.is_busy(error) or is_full(error)):
                raise

    # -- telling ------------------------------------------------------------------------------------

    def _tell(self, file: File) -> None:
        """Answer, in the order of what was seen: first mirrors read anew, then the news, which may go over
        some of that again, then who asked or committed, for whom no mirror is too old now."""
        before = list(self._read_mirrors(file))
        after = [*self._read_nodes(file), *(question.ask(file) for question in self._questions)]
        version = file.data_version()
        news: list[Note] = []
        if self._wrote or version != self._version:
            news = self._follow(file)
            self._version, self._wrote = version, False
            self._changed_at = self._clock.boot()
        self._follows, self._reads, self._questions = [], [], []
        if before or news or after:
            self._mail.tell([*before, *news, *after])

    def _read_mirrors(self, file: File) -> Iterator[Note]:
        for some in batched(self._follows, ROOTS):
            found = file.below([follow.root for follow in some])
            yield from (partial(follow.learn, nodes) for follow, nodes in zip(some, found, strict=True))

    def _read_nodes(self, file: File) -> Iterator[Note]:
        found: dict[str, Node | None] = {}
        for paths in batched(list({path for read in self._reads for path in read.paths}), NODES):
            found.update(file.read(paths))
        for read in self._reads:
            yield partial(read.answer, {path: found[path] for path in read.paths})

    def _follow(self, file: File) -> list[Note]:
        """Read on in the log; what there is to tell of it."""
        news = file.news(self._position)
        outcomes = self._line.conclude(file, news)
        if (not news.complete or any(entry.ref is None for entry in news.entries)) and not self._meet(file):
            log.warning("%s: our session was ended by somebody else", self._path)
            self._abandon()
        if self._wrote and news.head // PRUNED_EVERY != self._position // PRUNED_EVERY:
            self._prune(file, news.head - KEPT)
        self._position = news.head
        return [
            self._mail.news(news),
            *(self._mail.settled(commit.future, outcome) for commit, outcome in outcomes),
        ]

    def _settle(self, commit: Commit, outcome: Outcome) -> None:
        self._mail.tell([self._mail.settled(commit.future, outcome)])

    def _say(self, trouble: str, unexpected: Exception | None = None) -> None:
        if trouble != self._trouble:
            log.error("%s", trouble, exc_info=unexpected)
        self._trouble = trouble

    # -- when the file fails us ---------------------------------------------------------------------

    def _check_place(self, file: File) -> None:
        now = self._clock.boot()
        if now >= self._looked_for_file_at + _LOOK_FOR_FILE_EVERY:
            self._looked_for_file_at = now
            if file.is_moved():
                raise _Moved("the file, or its log (-wal), was taken away or replaced")

    def _fall(self, error: Exception) -> None:
        """The file cannot be used: what was sent may have landed. Start over when it can be used again."""
        if isinstance(error, _EXPECTED):
            self._say(f"{self._path}: {error}")
        else:
            self._say(f"{self._path}: something unexpected happened: {error!r}", error)
        self._blockade.lift()
        self._give_up_all(self._trouble)
        self._mail.tell([self._mail.suspended()])
        self._entered = False
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _open(self, patience: float) -> tuple[File, Path]:
        """The file, and the folder of its sessions."""
        place.prepare(self._path)
        file = File(self._path, patience=patience, plant=self._plant)
        try:
            return file, place.settle(self._path)
        except BaseException:
            file.close()
            raise

    def _reopen(self) -> File:
        """Open the file anew. The session goes on if it is still in there and was kept alive meanwhile."""
        file, _ = self._open(schema.SLICE)
        self._file = file
        self._trouble = ""
        tenure = self._tenure
        if tenure is not None and tenure.session.lease_left() > 0 and self._meet(file):
            self._join(file, tenure)
        elif tenure is not None:
            self._dead[tenure.session.id] = "we could not use the file for too long"
            self._abandon()
        return file

    def _give_up_all(self, why: str) -> None:
        self._line.give_up(why)
        asked: list[Read | Question] = [*self._reads, *self._questions]
        self._mail.tell([partial(each.failed, why) for each in asked])
        self._follows, self._reads, self._questions = [], [], []


def batched(many: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Some at a time, in order."""
    return (many[at : at + most] for at in range(0, len(many), most))


def is_full(error: sqlite3.Error) -> bool:
    """Whether there was no room. Nothing was done: what was written of the commit lacks its end."""
    return error.sqlite_errorname in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
