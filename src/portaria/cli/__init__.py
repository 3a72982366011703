"""The command line (spec 7): parses and calls, decides nothing.

Exit 0 done, 1 refused or failed, 2 wrong use.
"""

import typer

from portaria.cli import (
    channel,
    contact,
    incoming_events,
    member,
    org,
    processes,
    rules,
    simulate,
    simulate_account,
    simulate_lead,
    webhooks,
)
from portaria.cli.dev import dev

app = typer.Typer(
    name="portaria", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False,
    help="The front desk of a CRM: written down first, exactly once, in fair turn.",
)  # fmt: skip
app.command()(dev)
app.command()(processes.web)
app.command()(processes.worker)
app.command()(processes.migrate)
app.command()(processes.replay)
app.command()(processes.doctor)
app.command()(processes.keys)
app.add_typer(org.app, name="org")
app.add_typer(member.app, name="member")
app.add_typer(channel.app, name="channel")
app.add_typer(contact.app, name="contact")
app.add_typer(rules.app, name="rule")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(incoming_events.app, name="incoming-events")
simulate.app.command("account-event")(simulate_account.account_event)
simulate.app.command("lead")(simulate_lead.lead)
app.add_typer(simulate.app, name="simulate")


def main() -> None:
    """The entry point of the command `portaria`."""
    app()
