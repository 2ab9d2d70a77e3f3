"""`python -m shardwright` is the same as `shardwright`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="shardwright")
