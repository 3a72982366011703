"""Sentences for what was done, and for what was refused."""

from typing import Final

from markupsafe import Markup

from portaria.console.language import N_, Language
from portaria.errors import Refusal

DONE: Final = {
    "notice-resolved": N_("The notice is resolved."),
    "unblocked": N_("The contact can be written to again."),
    "lead-saved": N_("The lead is saved."),
    "lead-created": N_("The lead is created."),
    "lead-assigned": N_("The lead has its new owner."),
    "handed-over": N_("The leads were handed to the rotation."),
    "rule-saved": N_("The automation is saved."),
    "rule-created": N_("The automation is created."),
    "rule-deleted": N_("The automation is deleted. Its history stays."),
    "channel-archived": N_("The channel is archived. What still arrives for it is kept and ignored."),
    "form-saved": N_("The form is saved."),
    "form-archived": N_("The form is archived: it takes nothing more."),
    "member-role": N_("The member has the new role."),
    "member-revoked": N_("The member has left. Their open leads are without an owner now."),
    "organization-saved": N_("The organization is saved."),
    "profile-saved": N_("Your choices are saved."),
    "password-changed": N_("Your password is changed. You are signed out everywhere else."),
    "signed-out-everywhere": N_("You are signed out everywhere else."),
    "reprocessing": N_("The event starts anew. Its outcome appears here within seconds."),
}

REFUSALS: Final = {
    "account_taken": N_("This account is already registered by a live channel."),
    "already_a_member": N_("This person is already a member."),
    "body_emptied": N_("The body was emptied after its time of keeping: there is nothing to replay."),
    "busy": N_("It is being tried at this moment. Look again in a few seconds."),
    "channel_not_found": N_("There is no such live channel."),
    "contact_not_found": N_("There is no such contact."),
    "conversation_not_found": N_("There is no such conversation."),
    "forbidden": N_("Your role does not allow this. Ask an admin of your organization."),
    "foreign_request": N_("This form has expired. Load the page again."),
    "form_not_found": N_("There is no such form."),
    "invalid_credentials": N_("The e-mail or the password is wrong."),
    "invalid_email": N_("This is not an e-mail address."),
    "invalid_lead": N_("A value is empty, too long or cannot be stored."),
    "invalid_locale": N_("The language is Portuguese or English."),
    "invalid_name": N_("A name has 1 to 255 characters, and no control characters."),
    "invalid_phone": N_("A phone number is written with its area code, like +55 11 3000-9999."),
    "invalid_request": N_("The address of this page is not complete or not valid."),
    "invalid_rule": N_("Something is missing or does not fit: look at attendant, conditions and texts."),
    "invalid_subscription": N_("This browser cannot be told."),
    "invalid_time_zone": N_("The time zone is a name like America/Sao_Paulo."),
    "invalid_url": N_("An address begins with https:// and holds no spaces."),
    "invalid_value": N_("A value is empty, too long, or holds control characters."),
    "last_admin": N_("An organization keeps at least one admin: name another first."),
    "lead_needs_contact": N_("A lead needs a phone or an e-mail."),
    "lead_needs_name": N_("A lead needs a name."),
    "lead_not_found": N_("There is no such lead, or it is not yours to see."),
    "member_not_found": N_("There is no such member."),
    "no_rotation": N_("This automation is switched off or has no rotation."),
    "not_a_member": N_("Not a member of this organization any more."),
    "not_a_message": N_("This arrival holds no message that could be replayed."),
    "not_accepted": N_("The signature of this arrival is not proven: it cannot be replayed."),
    "not_eligible": N_("Only a member above viewer can own a lead."),
    "not_found": N_("There is nothing here."),
    "notice_not_found": N_("There is no such notice."),
    "operators_only": N_("Only operators of the installation may see this."),
    "organization_not_found": N_("There is no such organization."),
    "owner_changed": N_("Somebody else took this lead meanwhile: they keep it. This is how it stands now."),
    "payload_emptied": N_("The body was emptied after its time of keeping: it cannot be reprocessed."),
    "pending": N_("It is pending already: its try is on the way."),
    "phone_taken": N_("This phone number is already registered by a live channel."),
    "processed": N_("It took effect already."),
    "push_off": N_("Browser notifications are not set up in this installation."),
    "rule_changed": N_("Somebody changed this automation meanwhile."),
    "rule_not_found": N_("There is no such automation."),
    "signed_out": N_("This sign-in has ended. Sign in again."),
    "superseded": N_("Something newer was applied meanwhile: this would put an older state over it."),
    "synchronous_event": N_("Only new messages of the official number can be replayed."),
    "too_many_attempts": N_("Too many tries. Wait a few minutes, then try again."),
    "unauthenticated": N_("Sign in first."),
    "unknown_provider": N_("Choose one of the providers."),
    "unknown_role": N_("Choose one of the roles."),
    "user_not_found": N_("There is no such user."),
    "weak_password": N_("A password has 8 to 1,024 characters."),
    "weak_secret": N_("A secret has 16 to 1,024 characters."),
    "wrong_password": N_("The current password is wrong."),
}  # fmt: skip


def why(language: Language, refusal: Refusal) -> Markup:
    """Why it was refused, in the reader's language; the verb's own sentence where there is no other."""
    return language.say(REFUSALS.get(refusal.code, refusal.detail))
