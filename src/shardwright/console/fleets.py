from typing import Any
from enum import Enum


class Order(Enum):
    NAME = "name"


class Wanted:
    def __init__(self, *a: Any) -> None: ...


def page(here: Any, wanted: Any) -> Any: ...
