"""Leads and conversations as people look for them: by stage, by a word, by what is new.

A search looks at the newest so many rows: whoever is sought by name wrote lately, and a search never
costs more than a page.
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
