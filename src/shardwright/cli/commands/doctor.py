"""`shardwright doctor`."""

from collections.abc import Iterable, Iterator

import click

from ...errors import OperationError
from ...ops import doctor
from ...ops.doctor import Finding, Report
from ...ops.operator import Done, Operator
from ..auditing import operator
from ..blocks import Block, Table, Words, said
from ..call import FAILED, Changing, call, examples
from ..completion import job_names


@click.command(
    "doctor",
    cls=Changing,
    epilog=examples("shardwright doctor", "shardwright doctor reindex --repair --yes"),
)
@click.argument("name", required=False, shell_complete=job_names)
@click.option("--repair", is_flag=True, help="Repair what can be, after asking back.")
@click.pass_context
def doctor_command(context: click.Context, name: str | None, repair: bool) -> None:
    """Look for trouble, explain it, and repair it. Where there is trouble left the exit code is 1."""
    with call(context).registry() as registry:
        report = doctor.examine(registry, name)
        repairable = [each for each in report.findings if each.repairable]
        done: list[Done] = []
        refused: list[str] = []
        if repair and repairable:
            call(context).ask(f"Repair {_counted(repairable)}?")
            done, refused = _repaired(operator(call(context), registry), repairable)
            report = doctor.examine(registry, name)
    document = {**report.as_json(), "done": [each.as_json() for each in done], "refused": refused}
    call(context).show(document, lambda: _blocks(report, done, refused))
    if refused or not report.healthy:
        context.exit(FAILED)


def _repaired(somebody: Operator, findings: Iterable[Finding]) -> tuple[list[Done], list[str]]:
    """What was repaired, and what could not be: one that is refused does not keep the others from it."""
    done, refused = list[Done](), list[str]()
    for finding in findings:
        try:
            done.append(somebody.repair(finding))
        except OperationError as error:
            refused.append(str(error))
    return done, refused


def _counted(findings: list[Finding]) -> str:
    return "one finding" if len(findings) == 1 else f"{len(findings)} findings"


def _blocks(report: Report, done: Iterable[Done], refused: Iterable[str]) -> Iterator[Block]:
    for each in done:
        yield Words("\n".join(f"Repaired: {sentence}" for sentence in each.changed or [each.what]))
    for why in refused:
        yield Words(f"Not repaired: {why}")
    for finding in report.findings:
        where = f"{finding.job}: " if finding.job else ""
        mend = " (--repair does it)" if finding.repairable else ""
        yield Words(
            f"{finding.severity.value}: {where}{finding.what}\n"
            f"  why: {finding.why}\n  do: {finding.advice}{mend}\n  at: {finding.where}"
        )
    if not report.findings:
        yield Words("All is well.")
    rows = [(each.job, said(each.nodes), said(each.bytes)) for each in report.costs]
    yield Table(("job", "nodes", "bytes"), rows, "There is no job yet.")
