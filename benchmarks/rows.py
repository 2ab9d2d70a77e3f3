"""The row of a benchmark's table: our figure, a peer's, and their ratio; and what must hold of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Row:
    """One measurement. The ratio says how many times better we are, unless the note states a bound for it."""

    name: str
    ours: float
    peer: float | None
    peer_name: str
    ratio: float | None
    unit: str
    note: str = ""


class Bounds:
    """What must hold of a benchmark's figures. All are measured and told first; then it fails if one does
    not."""

    def __init__(self) -> None:
        self._broken: list[str] = []

    def note(self, name: str, holds: bool, must: str) -> str:
        """What a row says of its bound."""
        if holds:
            return must
        self._broken.append(name)
        return f"BROKEN: {must}"

    def check(self) -> None:
        if self._broken:
            raise AssertionError(f"not as it must be: {'; '.join(self._broken)}")


def as_row(row: Row | Mapping[str, object]) -> Row:
    """A benchmark may also give plain mappings, with the names of Row's fields for keys."""
    if isinstance(row, Row):
        return row
    known = {field.name for field in fields(Row)}
    if unknown := row.keys() - known:
        raise ValueError(f"a row has no {', '.join(sorted(unknown))}")
    return Row(
        name=str(row["name"]),
        ours=_number(row["ours"]) or 0.0,
        peer=_number(row.get("peer")),
        peer_name=str(row.get("peer_name") or ""),
        ratio=_number(row.get("ratio")),
        unit=str(row["unit"]),
        note=str(row.get("note", "")),
    )


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    raise ValueError(f"a figure must be a number, not {value!r}")
