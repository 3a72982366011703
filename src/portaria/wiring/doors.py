"""The doors in front of the framework: intake, accounts events, lead forms."""

import msgspec

from portaria.accounts.credentials import BadSecret, Signatures, Tokens
from portaria.accounts.http import EventLimits, IncomingEvents
from portaria.accounts.lost import LostDeliveries
from portaria.crm.forms.http import FormArrival, LeadForms
from portaria.db.pool import Connection, Database, connect
from portaria.intake import archive
from portaria.intake.backlog import Backlog
from portaria.intake.first_attempt import FirstAttempts
from portaria.intake.group_commit import Bounds, GroupCommit
from portaria.intake.http import Intake, Limits
from portaria.intake.overview import Minutes
from portaria.intake.pressure import Pressure
from portaria.intake.refusals import RefusalNotices
from portaria.intake.sessions import SessionDirectory, usable_secrets
from portaria.settings import Settings
from portaria.wiring.basics import NotConfigured, database_url, secret_box


def build_intake(
    config: Settings, db: Database, ingest_db: Database, lookup_db: Database, minutes: Minutes
) -> Intake:
    """The intake with its two group commits, on connections of their own. `minutes` counts its answers."""
    # What is left for reading, judging and sending is the difference to the provider's patience.
    within = config.answer_within * 0.9

    async def connection() -> Connection:
        return await connect(database_url(config), "portaria intake", statement_timeout=within)

    pressure = Pressure(within=within)
    bounds = Bounds(config.batch_rows, config.queue_rows, config.queue_bytes, within)
    return Intake(
        db=db,
        directory=SessionDirectory(lookup_db, secret_box(config), ttl=config.session_cache_ttl),
        archive=GroupCommit("archive", archive.archive, connection, depth=config.commit_depth, bounds=bounds),
        accept=GroupCommit("accept", archive.accept, connection, depth=config.commit_depth, bounds=bounds),
        first_attempts=FirstAttempts(
            ingest_db,
            at_once=config.first_attempts,
            waiting=config.first_attempts_waiting,
            under_way=lambda: pressure.under_way,
        ),
        backlog=Backlog(lookup_db, rows=config.backlog_rows, age=config.backlog_age),
        installation=usable_secrets(
            config.installation_secret.get_secret_value(),
            config.installation_previous_secret.get_secret_value(),
        ),
        refusals=RefusalNotices(db),
        limits=Limits(config.body_limit, config.header_limit, config.body_within, within),
        pressure=pressure,
        note=minutes.note,
    )


def build_incoming_events(config: Settings, db: Database, lost: LostDeliveries) -> IncomingEvents:
    """The accounts service's door. Raises NotConfigured for a signature secret that cannot be one."""
    try:
        signatures = Signatures(
            s.get_secret_value()
            for s in (config.accounts_signature_secret, config.accounts_signature_previous_secret)
        )
    except BadSecret as error:
        raise NotConfigured(f"PORTARIA_ACCOUNTS_SIGNATURE_SECRET: {error}") from None
    tokens = Tokens(
        t.get_secret_value() for t in (config.accounts_webhook_token, config.accounts_webhook_previous_token)
    )
    limits = EventLimits(
        body=config.body_limit, headers=config.header_limit, body_within=config.body_within,
        answer_within=config.answer_within * 0.9,
    )  # fmt: skip
    return IncomingEvents(db, tokens=tokens, signatures=signatures, lost=lost, limits=limits)


def build_lead_forms(config: Settings, db: Database, intake: Intake) -> LeadForms:
    """The forms' doors; what they archive shares the intake's group commit."""

    async def archive_form(arrival: FormArrival) -> None:
        headers = msgspec.json.encode(archive.kept_headers(arrival.headers)).decode()
        row = archive.Arrival(
            arrival.id, "lead_form", arrival.organization_id, None, headers, arrival.raw_body
        )
        await intake.archive.submit(row, size=len(arrival.raw_body), within=intake.limits.answer_within)

    return LeadForms(
        db, archive_form, rate=config.form_rate or None, body_limit=config.body_limit,
        header_limit=config.header_limit, body_within=config.body_within, refused=intake.refusals.count,
    )  # fmt: skip
