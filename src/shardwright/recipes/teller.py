"""The teller: calls what a user gave us, one after the other, in a thread of its own and never in the
reactor's. What fails is reported, and the next is called all the same."""

import queue
import threading
from collections.abc import Callable

from ..logs import Log

log = Log("shardwright")

Call = Callable[[], None]


class Teller:
    """`name` is what the log calls whoever has something to tell."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._voice: _Voice | None = None
        self._before: _Voice | None = None
        """The last that there was, which may not have come to its end."""

    def tell(self, what: str, call: Callable[[], object]) -> None:
        """Call this after all that was to be called before, however that ends. `what` is for the log."""

        def called() -> None:
            try:
                call()
            except BaseException:  # also one that would end its thread, which is ours
                log.exception("%s: %s has failed", self._name, what)

        if self._voice is None:
            self._voice = self._before = _Voice(self, self._name, after=self._before)
        self._voice.calls.put(called)
        if not self._voice.has_begun():
            self._voice.start()  # where there is no thread this raises, and what is to be called waits

    def is_calling(self) -> bool:
        """Whether it is in what the teller calls that this is asked."""
        here = threading.current_thread()
        return isinstance(here, _Voice) and here.teller is self

    def stop(self, within: float) -> None:
        """Call what is still to be called, and no more; not waited for longer than this."""
        voice, self._voice = self._voice, None
        if voice is not None:
            voice.calls.put(None)
        if self._before is not None and self._before.has_begun() and not self.is_calling():
            self._before.join(within)


class _Voice(threading.Thread):
    """What is called from one start to the next stop; it begins when the one before has come to its end."""

    def __init__(self, teller: Teller, name: str, after: "_Voice | None") -> None:
        super().__init__(name=f"shardwright-{name}", daemon=True)
        self.teller = teller
        self.calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._after = after

    def has_begun(self) -> bool:
        return self.ident is not None

    def run(self) -> None:
        if self._after is not None:
            if self._after.has_begun():
                self._after.join()
            self._after = None
        while (call := self.calls.get()) is not None:
            call()
