"""ZooKeeper's frames, as far as a proxy must know them: where one ends, which request it is, which answer.

A frame is a length and so many bytes. A request begins with its xid and its operation, an answer with the
xid of its request, a watch event with -1. Only the first frame each way, the handshake, has no xid.
"""

import asyncio
import struct
from dataclasses import dataclass
from typing import Literal

Direction = Literal["c2s", "s2c"]  # client to server, server to client

OPERATIONS = {
    1: "create",
    2: "delete",
    3: "exists",
    4: "getData",
    5: "setData",
    6: "getACL",
    7: "setACL",
    8: "getChildren",
    9: "sync",
    11: "ping",
    12: "getChildren2",
    13: "check",
    14: "multi",
    15: "create2",
    16: "reconfig",
    17: "checkWatches",
    18: "removeWatches",
    19: "createContainer",
    20: "deleteContainer",
    21: "createTTL",
    22: "multiRead",
    100: "auth",
    101: "setWatches",
    102: "sasl",
    103: "getEphemerals",
    104: "getAllChildrenNumber",
    105: "setWatches2",
    106: "addWatch",
    107: "whoAmI",
    -11: "closeSession",
}
EVENTS = {-1: "none", 1: "created", 2: "deleted", 3: "changed", 4: "child"}

NAMES = {"connect", *OPERATIONS.values()}
HANDSHAKE = 1 << 32  # stands for the xid it does not have
NOTIFICATION = -1
LARGEST = 64 << 20  # a greater "length" is the beginning of some other protocol


@dataclass(frozen=True)
class Frame:
    """Bytes on their way: a request (it has an op), an answer, a watch event, or something foreign."""

    data: bytes
    xid: int | None = None
    op: str | None = None
    event: str | None = None


END = Frame(b"")


class Frames:
    """The frames of one direction of a connection, whole, whatever pieces they come in."""

    def __init__(self, stream: asyncio.StreamReader, direction: Direction) -> None:
        self._stream = stream
        self._direction = direction
        self._is_first = True
        self._is_foreign = False

    async def next(self) -> Frame:
        """The next one; END when the connection is closed."""
        try:
            return await self._next()
        except asyncio.IncompleteReadError as rest:
            return Frame(rest.partial)
        except OSError:
            return END

    async def _next(self) -> Frame:
        if self._is_foreign:
            return Frame(await self._stream.read(65536))
        head = await self._stream.readexactly(4)
        length = int.from_bytes(head)
        if length > LARGEST:
            self._is_foreign = True
            return Frame(head)
        data = head + await self._stream.readexactly(length)
        is_first, self._is_first = self._is_first, False
        return parse(data, self._direction, is_first)


def parse(data: bytes, direction: Direction, is_first: bool) -> Frame:
    if is_first:
        return Frame(data, HANDSHAKE, op="connect" if direction == "c2s" else None)
    if direction == "c2s":
        xid, op = struct.unpack_from(">ii", data, 4)
        return Frame(data, xid, op=OPERATIONS.get(op, str(op)))
    xid, _zxid, _error = struct.unpack_from(">iqi", data, 4)
    if xid != NOTIFICATION:
        return Frame(data, xid)
    (event,) = struct.unpack_from(">i", data, 20)
    return Frame(data, event=EVENTS.get(event, str(event)))
