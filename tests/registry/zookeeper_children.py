"""What processes of their own do in the tests of the ZooKeeper driver."""

import contextlib
import logging
import os

from shardwright.registry import Create, Session, State, connect


def member(url: str, path: str) -> None:
    """Hold an ephemeral node and say what happens to the session, in the order in which we are told."""
    logging.disable()  # what kazoo says must not come between
    registry = connect(url)

    def say(state: State, session: Session | None) -> None:
        print(f"<state> {state.value} {session.id if session is not None else ''}", flush=True)

    registry.listener = say
    registry.wait(registry.commit(Create(path, str(os.getpid()), ephemeral=True)))
    print("ready", flush=True)
    with contextlib.suppress(TimeoutError):
        registry.wait_for(lambda: False, 120)
