"""Try many seeds: python -m tests.simulation HOW_MANY FIRST. Says what was seen, and what was broken.

`python -m tests.simulation story SEED` tells one seed's story instead, word for word the same every time.
"""

import logging
import sys

from . import chaos, many

#: How many seeds must have shown everything there is to see.
ENOUGH = 500


def main(count: int, first: int) -> int:
    broken = unseen = 0
    for each in many.run(range(first, first + count), lambda how_far: print(how_far, file=sys.stderr)):
        if isinstance(each, many.Totals):
            print(*each.lines(), sep="\n")
            for what in each.never():
                print(f"never seen: {what}")
                unseen += 1
        else:
            broken += 1
            print(f"seed {each[0]}: {each[1]}\n", flush=True)
    return 1 if broken or (unseen and count >= ENOUGH) else 0


def story(seed: int) -> int:
    logging.disable(logging.CRITICAL)
    world = chaos.a_world(seed)
    try:
        chaos.play(world, seed)
    except AssertionError as broken:
        print(str(broken).partition("\n")[0])
    print(*world.log, sep="\n")
    print(*(f"{path} {node}" for path, node in sorted(world.store.nodes.items())), sep="\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "story":
        sys.exit(story(int(sys.argv[2])))
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
