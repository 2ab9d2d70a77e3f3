"""Trust: what is done with secrets by settings that come from the registry.

Whoever may write a job's settings is not thereby one who may have the secrets of those who run it. So a
reference is looked up only where the program's own declaration of the job has the very same under the very
same key; and what uses a secret may use it only while it sends to the place that is declared.
"""

from collections.abc import Collection, Mapping, Sequence

from . import references, secrets

Props = Mapping[str, str]


def strange(props: Props, declared: Props | None) -> frozenset[str]:
    """The keys under which there are references that the program itself does not have there."""
    return frozenset(
        key
        for key, value in props.items()
        if references.has_any(value) and (declared is None or declared.get(key) != value)
    )


def moved(props: Props, declared: Props, places: Collection[str] | None) -> tuple[str, ...]:
    """Which of these, which say where something is sent to, are not as the program declares them. None: any
    prop may be one."""
    asked = props.keys() | declared.keys() if places is None else places
    return tuple(sorted(key for key in asked if (props.get(key) or "") != (declared.get(key) or "")))


def withheld(
    props: Props, declared: Props | None, places: Collection[str] | None, elsewhere: Sequence[str]
) -> dict[str, str]:
    """What may not be used, by its key, and why. `elsewhere` is what was moved, of the places."""
    found = {key: _why_strange(key, declared) for key in sorted(strange(props, declared))}
    if declared is None or not elsewhere:
        return found
    for key, value in props.items():
        is_place = places is not None and key in places
        # What nobody is shown who looks at the settings, nobody is to be sent who changes them.
        is_hidden = value != "" and (looks_secret(key) or secrets.masked(value) != value)
        is_ours = is_hidden and not is_place and declared.get(key) == value
        if key not in found and (is_ours or references.has_any(value)):
            found[key] = (
                f"{key} is withheld: this program declares another {' and '.join(elsewhere)}; "
                "declare the one that is meant in code"
            )
    return found


def looks_secret(key: str) -> bool:
    """Whether a prop is a secret by its name; how long to wait for a webhook is none."""
    return secrets.looks_secret(key) and not key.endswith("Milliseconds")


def _why_strange(key: str, declared: Props | None) -> str:
    if declared is None:
        return f"{key} has a reference, and this program does not declare the job: it is not looked up"
    return (
        f"{key} has a reference that this program does not declare there: it is not looked up; "
        "declare it in code"
    )
