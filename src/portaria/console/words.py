"""The words for what the database and the wire name by keys. Sentences are translated where they are shown.

A key that is not here is shown as it is: what is stored may be newer than this page.
"""

from collections.abc import Mapping
from typing import Final

from portaria.console.language import N_

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "role": {
        "viewer": N_("Viewer"), "agent": N_("Agent"), "manager": N_("Manager"), "admin": N_("Admin"),
    },
    "role_may": {
        "viewer": N_("Sees everything, changes nothing."),
        "agent": N_("Answers conversations, and works on their own leads."),
        "manager": N_("Sees every lead, and changes automations and forms."),
        "admin": N_("Everything: channels, members and the organization too."),
    },
    "notice_status": {"open": N_("Open"), "ack": N_("Acknowledged"), "resolved": N_("Resolved")},
    "severity": {"info": N_("For your information"), "warning": N_("Warning"), "error": N_("Error")},
    "notice_kind": {
        "event_dead": N_("Message given up"), "event_contract": N_("Message outside the contract"),
        "channel_secret": N_("Channel secret"), "delivery_refused": N_("Delivery refused"),
        "incoming_event_failed": N_("Accounts event failed"), "channel_number_alert": N_("Number alert"),
        "channel_template_review": N_("Template review"), "automation": N_("Automation"),
    },
    "arrival_status": {
        "received": N_("Received"), "pending": N_("Pending"), "processed": N_("Processed"),
        "error": N_("Error"), "dead": N_("Given up"),
    },
    "arrival_status_means": {
        "received": N_("Written down, and not accepted yet."),
        "pending": N_("Accepted: a try will complete it within minutes."),
        "processed": N_("It took effect, or was ignored for the reason given."),
        "error": N_("Refused, or not to be understood: the error says why."),
        "dead": N_("Given up. Replay it, or look for it in the provider's panel."),
    },
    "arrival_reason": {
        "canal_arquivado": N_("The channel is archived"),
        "conta_desconhecida": N_("The account is not one of ours"),
        "webhook_de_teste": N_("The provider's test"), "outra_plataforma": N_("Another platform"),
        "evento_desconhecido": N_("An event that is not known here"),
        "duplicate": N_("It was in the CRM already"), "stale": N_("Something newer was known"),
        "unknown_message": N_("It speaks of a message that is not known here"),
        "invalid_signature": N_("The signature is missing or wrong"),
        "invalid_json": N_("The body is no JSON object"),
        "no_anchor": N_("It names nobody who can be found again"),
        "not_accepted": N_("Never accepted, and nothing was promised"),
        "erased": N_("Erased with the person it spoke of"),
    },
    "signature": {"true": N_("Proven"), "false": N_("Refused"), "none": N_("Not looked at")},
    "event_status": {"pending": N_("Pending"), "processed": N_("Took effect"), "failed": N_("Failed")},
    "provider": {
        "zernio": N_("WhatsApp, official number (Zernio)"), "zernio_social": N_("Social networks (Zernio)"),
        "lead_form": N_("Lead form"), "meta_cloud": N_("WhatsApp Cloud API (Meta)"),
        "standard_webhooks": N_("Standard Webhooks"),
    },
    "channel_state": {
        "activated": N_("Activated"), "declined": N_("Declined"), "action_required": N_("Action required"),
        "verification_required": N_("Verification required"), "suspended": N_("Suspended"),
        "reactivated": N_("Reactivated"), "released": N_("Released"), "kyc_submitted": N_("Documents sent"),
        "connected": N_("Connected"), "disconnected": N_("Disconnected"),
    },
    "message_status": {
        "received": N_("Received"), "sent": N_("Sent"), "delivered": N_("Delivered"), "read": N_("Read"),
        "failed": N_("Failed"),
    },
    "message_type": {
        "image": N_("Picture"), "audio": N_("Audio"), "video": N_("Video"), "document": N_("Document"),
        "file": N_("Document"), "sticker": N_("Sticker"), "location": N_("Location"),
        "contacts": N_("Contact card"), "order": N_("Order"), "voice": N_("Audio"),
        "unsupported": N_("A kind of message that WhatsApp does not pass on"),
    },
    "blocked_reason": {
        "stop_keyword": N_("This person asked not to receive messages any more."),
    },
    "lead_source": {
        "whatsapp": N_("WhatsApp"), "form": N_("Form"), "console": N_("Console"), "api": N_("API"),
        "import": N_("Import"),
    },
    "lead_status": {"open": N_("Open"), "won": N_("Won"), "lost": N_("Lost")},
    "lead_stage": {"new": N_("New")},
    "trigger": {
        "lead.created": N_("A lead is created"), "lead.stage_changed": N_("A lead changes its stage"),
        "message.received": N_("A message arrives"),
    },
    "run_status": {
        "running": N_("Running"), "done": N_("Done"), "skipped": N_("Skipped"), "failed": N_("Failed"),
    },
    "reason": {
        "ninguem_disponivel": N_("Nobody in the rotation could take it: the lead stays without an owner."),
        "sem_rodizio": N_("The rule has no rotation any more, or is off: nobody was chosen."),
        "ja_tem_dono": N_("Somebody took this lead meanwhile: their claim stands."),
        "lead_inexistente": N_("The lead does not exist any more."),
        "unknown_action": N_("The rule asks for an action that is not known here."),
        "invalid_config": N_("The rule's action is not complete: look at its form."),
    },
    "skipped_because": {
        "pausado": N_("paused"), "revogado": N_("left the organization"), "viewer": N_("is a viewer"),
        "fora_da_organizacao": N_("is not of this organization"),
    },
    "event": {
        "lead.created": N_("The lead was created"), "lead.assigned": N_("The lead got an owner"),
        "lead.unassigned": N_("The lead lost its owner"), "lead.stage_changed": N_("The stage changed"),
        "lead.handed_to_rotation": N_("The lead was handed to the rotation"),
    },
    "outcome": {
        "accepted": N_("Accepted"), "processed": N_("Done before the answer"), "ignored": N_("Ignored"),
        "refused": N_("Refused"), "unavailable": N_("Asked to come back"), "failed": N_("Failed"),
    },
    "outcome_means": {
        "accepted": N_("A new message: written down, answered, and taken into the CRM at once."),
        "processed": N_("An outcome, an edit or a state: applied first, then answered."),
        "ignored": N_("Nothing for this CRM: kept in the archive, with the reason."),
        "refused": N_("A wrong signature, or not to be understood: kept in the archive."),
        "unavailable": N_("We could not promise to keep it: the provider delivers it again."),
        "failed": N_("It could not be applied: the provider delivers it again."),
    },
    "outcome_of_replay": {
        "ingested": N_("It worked: the message is in the CRM."),
        "duplicate": N_("The message was in the CRM already: nothing was repeated."),
        "contract": N_("The body breaks the provider's contract: it cannot enter the CRM."),
        "superseded": N_("Another try was faster and closed it."),
        "failed": N_("It failed again:"), "dead": N_("It was given up."),
        "late": N_("The message is in the CRM, too old for the automatic attendance: answer it yourself."),
        "kept": N_("It was kept to be tried again."),
    },
    "audit_action": {
        "channel.archived": N_("Channel archived"), "channel.created": N_("Channel created"),
        "channel.secret_rotated": N_("Channel's secret rotated"), "contact.blocked": N_("Contact blocked"),
        "contact.erased": N_("Contact erased"), "contact.unblocked": N_("Contact unblocked"),
        "automation_rule.created": N_("Automation created"),
        "automation_rule.updated": N_("Automation changed"),
        "automation_rule.deleted": N_("Automation deleted"),
        "incoming_event.reprocessed": N_("Accounts event reprocessed"), "lead.assigned": N_("Lead given"),
        "lead.handed_to_rotation": N_("Leads handed to the rotation"),
        "lead_form.archived": N_("Form archived"), "lead_form.created": N_("Form created"),
        "lead_form.updated": N_("Form changed"), "member.added": N_("Member added"),
        "member.restored": N_("Member back again"), "member.revoked": N_("Member revoked"),
        "member.role_changed": N_("Member's role changed"),
        "organization.created": N_("Organization created"),
        "organization.updated": N_("Organization changed"), "user.operator_set": N_("Operator set"),
        "webhook.replay_run": N_("Replay round"), "webhook.replayed": N_("Arrival replayed by hand"),
        "notice.acknowledged": N_("Notice acknowledged"), "notice.resolved": N_("Notice resolved"),
    },
    "actor": {
        "system": N_("The system"), "cli": N_("The command line"), "dev": N_("The demo"),
        "webhook-replay": N_("The replay, every minute"),
    },
    "resource": {
        "webhook_event": N_("Arrival"), "channel_session": N_("Channel"),
        "incoming_event": N_("Accounts event"), "lead": N_("Lead"), "automation_rule": N_("Automation"),
        "lead_form": N_("Form"), "member": N_("Member"), "organization": N_("Organization"),
        "user": N_("User"), "contact": N_("Contact"), "notice": N_("Notice"),
    },
    "theme": {"auto": N_("As the device has it"), "light": N_("Light"), "dark": N_("Dark")},
    # Each in its own tongue, so that whoever reads no other finds it.
    "language": {"pt_BR": "Português (Brasil)", "en": "English"},
    "operator": {"eq": N_("is"), "neq": N_("is not"), "contains": N_("contains")},
    "field": {
        "lead.title": N_("Lead: title"), "lead.source": N_("Lead: how it came"),
        "lead.stage": N_("Lead: stage"),
        "lead.status": N_("Lead: status"), "lead.tags": N_("Lead: tags"),
        "lead.owner_user_id": N_("Lead: owner"), "contact.name": N_("Contact: name"),
        "contact.phone_number": N_("Contact: phone"), "contact.email": N_("Contact: e-mail"),
        "message.text": N_("Message: text"), "message.type": N_("Message: type"),
        "event.from": N_("Stage before"), "event.to": N_("Stage after"),
    },
}  # fmt: skip

_AS_TONE: Final = {
    "open": "red", "lead_status open": "azure", "ack": "yellow", "resolved": "green",
    "info": "azure", "warning": "yellow", "error": "red",
    "received": "secondary", "pending": "yellow", "processed": "green", "dead": "red", "failed": "red",
    "won": "green", "lost": "secondary", "running": "azure", "done": "green", "skipped": "yellow",
    "admin": "purple", "manager": "azure", "agent": "green", "viewer": "secondary",
}  # fmt: skip


def word(kind: str, key: object) -> str:
    """The sentence for `key`, to be translated; the key itself where there is none."""
    return WORDS[kind].get(str(key), str(key))


def tone(key: str, kind: str = "") -> str:
    """The colour of a status. Never the only sign: its word stands beside."""
    return _AS_TONE.get(f"{kind} {key}") or _AS_TONE.get(key, "secondary")
