"""Phones as people type them (provider facts 5)."""

import pytest

from portaria.crm.phones import search_variants, typed_phone

TYPED = [
    ("(11) 98765-4321", "+5511987654321"), ("11 3000-9999", "+551130009999"),
    ("1187654321", "+551187654321"), ("5511987654321", "+5511987654321"),
    ("011 98765 4321", "+5511987654321"), ("+55 11 98765-4321", "+5511987654321"),
    ("+1 (415) 555-2671", "+14155552671"), ("+49.30/123-4567", "+49301234567"),
    ("98765-4321", None), ("3000-9999", None), ("190", None), ("abc", None), ("", None), ("+", None),
    ("+1", None), ("+0511987654321", None), ("+" + "1" * 16, None), ("+55 11 abc", None),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "phone"), TYPED)
def test_a_number_as_typed(typed: str, phone: str | None) -> None:
    assert typed_phone(typed, "BR") == phone


def test_the_region_decides_what_has_no_prefix() -> None:
    assert typed_phone("(415) 555-2671", "US") == "+14155552671"


@pytest.mark.parametrize(
    ("phone", "others"),
    [
        ("+5511987654321", ["+551187654321"]), ("+551187654321", ["+5511987654321"]),
        ("+551130009999", []), ("+14155552671", []), ("+5511912345678", []), ("+5501987654321", []),
    ],
)  # fmt: skip
def test_the_other_spelling_of_a_mobile_line_is_searched_and_never_saved(
    phone: str, others: list[str]
) -> None:
    assert search_variants(phone) == [phone, *others]
