"""Who we are: an address that others reach us by, and a name that is never used twice."""

import os
import random
import socket

#: Seeded from the system once, because asking that for each of thousands of jobs takes its time; a fork has
#: the same, and another pid.
_CHANCE = random.Random(os.urandom(16))  # noqa: S311 - names are to differ, not to be kept secret


def address() -> str:
    """This machine's IPv4 address, as the way out of it tells; loopback where there is none.

    Nothing is sent: connecting a datagram socket only chooses the way.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        try:
            way_out.connect(("192.0.2.1", 9))
            return str(way_out.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def new_name(of: str) -> str:
    """A name for one session of this process: `<address>@-@<pid>-<random>`, readable by Java."""
    return f"{of}@-@{os.getpid()}-{_CHANCE.getrandbits(32):08x}"
