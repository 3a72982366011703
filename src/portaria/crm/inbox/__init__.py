"""The inbox: conversations with what is unread, their threads, and people unblocked by people.

A thread is ordered by the provider's time. Reading is bounded by `arrival`, the order in which messages
came in: a message that commits while somebody reads has a higher number, so it stays unread (B1, B2).
"""

from portaria.crm.inbox.contacts import unblock_contact
from portaria.crm.inbox.conversations import (
    Conversation,
    ConversationFilter,
    count_unread,
    find_conversation,
    list_conversations,
    mark_read,
)
from portaria.crm.inbox.thread import Message, list_messages

__all__ = [
    "Conversation",
    "ConversationFilter",
    "Message",
    "count_unread",
    "find_conversation",
    "list_conversations",
    "list_messages",
    "mark_read",
    "unblock_contact",
]
