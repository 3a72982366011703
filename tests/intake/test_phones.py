import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portaria.intake.phones import normalize_phone, search_variants


@pytest.mark.parametrize(
    ("written", "phone"),
    [
        ("+5511987650001", "+5511987650001"),
        ("5511987650001", "+5511987650001"),
        ("+55 11 3000-9999", "+551130009999"),
        ("+55 (11) 98765-0001", "+5511987650001"),
        ("(+55) 11\u00a098765\u20110001", "+5511987650001"),
        ("+1.202.555.0100", "+12025550100"),
        ("12345678", "+12345678"),
        ("123456789012345", "+123456789012345"),
        ("1234567", None),
        ("1234567890123456", None),
        ("+0511987650001", None),
        (None, None),
        ("", None),
        ("+", None),
        ("++5511987650001", None),
        ("5511987650001+", None),
        ("BR.40718293645501827364", None),  # a fake phone, were its letters stripped
        ("BR.4071829364", None),
        ("5511987650001@s.whatsapp.net", None),
        ("271828182845904@lid", None),
        ("whatsapp:+5511987650001", None),
        ("Loja 11987650001", None),
        ("٥٥١١٩٨٧٦٥٠٠٠١", None),
        ("5511987650001\0", None),
    ],
)
def test_one_form_or_none(written: str | None, phone: str | None) -> None:
    assert normalize_phone(written) == phone


@given(st.text())
def test_what_comes_out_fits_the_database(value: str) -> None:
    phone = normalize_phone(value)
    assert phone is None or re.fullmatch(r"\+[1-9][0-9]{7,14}", phone)


@given(st.from_regex(r"[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}", fullmatch=True))
def test_no_business_scoped_id_becomes_a_phone(scoped_id: str) -> None:
    assert normalize_phone(scoped_id) is None


@pytest.mark.parametrize(
    ("phone", "variants"),
    [
        ("+551187654321", ["+551187654321", "+5511987654321"]),  # case A17
        ("+5511987654321", ["+5511987654321", "+551187654321"]),
        ("+551132654321", ["+551132654321"]),  # a landline
        ("+5511932654321", ["+5511932654321"]),  # without its nine it would be a landline
        ("+550187654321", ["+550187654321"]),  # no such area code
        ("+12025550100", ["+12025550100"]),
        ("+351912345678", ["+351912345678"]),
    ],
)
def test_the_ninth_digit_of_brazil(phone: str, variants: list[str]) -> None:
    assert search_variants(phone) == variants


@given(st.from_regex(r"\+55[0-9]{10,11}", fullmatch=True))
def test_the_exact_spelling_is_first_and_variants_find_each_other(phone: str) -> None:
    variants = search_variants(phone)
    assert variants[0] == phone
    assert all(phone in search_variants(variant) for variant in variants)
