"""Leads and conversations as people look for them: by stage, by a word, by what is new.

A search finds a part of a word, of a name or of a phone in everything there is. It looks at the newest rows
first, which is enough for what many have in common; what few have, an index of every three characters in a
row finds (`fn_grams`). One or two characters are sought in the newest 20,000 alone.
"""

from portaria.crm.board.looking import (
    StageCount,
    Unowned,
    count_stages,
    count_unowned,
    search_conversations,
    search_leads,
)
from portaria.crm.board.news import News, read_news

__all__ = [
    "News",
    "StageCount",
    "Unowned",
    "count_stages",
    "count_unowned",
    "read_news",
    "search_conversations",
    "search_leads",
]
