"""The teller: calls what a user gave us, one after the other, in a thread of its own and never in the
reactor's. What fails is reported, and the next is called all the same."""

import logging
import queue
import threading
from collections.abc import Callable

log = logging.getLogger("shardwright")


class Teller:
    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def tell(self, call: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
        """Call this after all that was to be called before; `then` follows however it ends."""

        def both() -> None:
            try:
                call()
            except Exception:
                log.exception("%s: what was to be called has failed", self._name)
            finally:
                then()

        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"shardwright-{self._name}", daemon=True)
            self._thread.start()
        self._calls.put(both)

    def calls(self) -> bool:
        """Whether it is in what the teller calls that this is asked."""
        return self._thread is threading.current_thread()

    def stop(self, within: float) -> None:
        """Call what is still to be called, and no more; not waited for longer than this."""
        if self._thread is not None:
            self._calls.put(None)
            if not self.calls():
                self._thread.join(within)
            self._thread = None

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
