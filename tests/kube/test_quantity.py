"""Quantities: Kubernetes' values and texts, exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.quantity import ZERO, Quantity, QuantityError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0Ki", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("1.", "1"),
        (".5", "500m"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("100.0", "100"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("8589934592", "8589934592"),
        ("1k", "1k"),
        ("1E", "1E"),
        ("10000P", "10E"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1023Ki", "1023Ki"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("0.001Ki", "1024m"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1e4", "10e3"),
        ("1.5e3", "1500"),
        ("1e-3", "1e-3"),
        ("1e0", "1"),
        ("123456789.123456789123", "123456789123456790n"),
        ("-1.5Gi", "-1536Mi"),
        ("-1Ki", "-1Ki"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (["0.5"], "500m"),
        (["1500m", "500m"], "2"),
        (["1000m"], "1"),
        (["2Gi", "1024Mi"], "3Gi"),
        (["1.5Gi"], "1536Mi"),
        (["512Mi", "1G"], "1536870912"),
        (["8589934592"], "8589934592"),
        (["1000000000", "1Gi"], "2073741824"),
        (["0", "1Gi"], "1Gi"),
        (["0Ki", "1G"], "1G"),
        (["0", "0Gi"], "0"),
        ([], "0"),
    ],
)
def test_a_sum_has_the_family_of_its_first_term_that_is_not_zero(terms: list[str], text: str) -> None:
    assert str(sum((Quantity.parse(term) for term in terms), ZERO)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.1n", "2n"),
        ("1e-100", "1e-9"),
        ("8Ei", "9223372036854775807"),
        ("-100Ei", "-9223372036854775807"),
    ],
)
def test_finer_digits_round_up_and_binary_values_stop_at_63_bits(text: str, value: str) -> None:
    assert str(Quantity.parse(text)) == value


@pytest.mark.parametrize(("number", "text"), [(2, "2"), (0.5, "500m"), (2.0, "2"), (1e16, "10P"), (1e-7, "100e-9")])
def test_json_numbers_are_quantities_too(number: float, text: str) -> None:
    assert str(Quantity.parse(number)) == text


@pytest.mark.parametrize(
    "text", ["", " 1", "1 Gi", ".", "+", "1e", "1_0", "0x10", "1,5", "1ee3", "1.2.3", "NaN", "½", "1e401", "1" * 400]
)
def test_what_is_not_a_quantity_is_refused_with_advice(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("1K", "write 1k or 1Ki"),
        ("2GB", "write 2G or 2Gi"),
        ("1g", "write 1G or 1Gi"),
        ("512mb", "write 512M or 512Mi"),
        ("1TiB", "write 1Ti"),
        ("2gi", "write 2Gi"),
        ("1cpu", "write 1"),
        ("500millicores", "write 500m"),
    ],
)
def test_a_wrong_suffix_names_the_one_that_was_meant(text: str, advice: str) -> None:
    with pytest.raises(QuantityError, match="suffix") as caught:
        Quantity.parse(text)
    assert caught.value.fix == advice


@pytest.mark.parametrize("number", [1e300, int(1e300), -1e300])
def test_a_number_with_hundreds_of_digits_is_read_by_its_exponent(number: float) -> None:
    assert Quantity.parse(number) == Quantity.parse(repr(float(number)))


def test_true_is_not_one() -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(True)


@pytest.mark.parametrize(
    ("text", "units"), [("1500m", 2), ("2", 2), ("1n", 1), ("-1500m", -2), ("0", 0), ("1Ki", 1024)]
)
def test_ceil_rounds_away_from_zero(text: str, units: int) -> None:
    assert Quantity.parse(text).ceil() == units


def test_values_compare_by_amount_and_not_by_spelling() -> None:
    one, thousand = Quantity.parse("1Ki"), Quantity.parse("1k")
    assert Quantity.parse("1024") == one
    assert hash(Quantity.parse("1024")) == hash(one)
    assert thousand < one <= one
    assert one > thousand >= thousand
    assert one != "1Ki"
    assert Quantity.parse("0Gi").is_zero


def test_arithmetic() -> None:
    assert str(Quantity.parse("1500m") * 4) == "6"
    assert str(Quantity.parse("2Gi") - Quantity.parse("1Gi")) == "1Gi"
    assert str(-Quantity.parse("2Gi")) == "-2Gi"
    assert Quantity.parse("250m").as_float() == 0.25


SUFFIXES: dict[str, Fraction | int] = {
    "": 1,
    "n": Fraction(1, 10**9),
    "m": Fraction(1, 1000),
    "k": 1000,
    "G": 10**9,
    "Ki": 2**10,
    "Gi": 2**30,
    "e3": 1000,
}
texts = st.builds(
    lambda sign, whole, decimals, suffix: f"{sign}{whole}{decimals}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**9),
    st.one_of(st.just(""), st.integers(0, 999).map(lambda digits: f".{digits:03}")),
    st.sampled_from([*SUFFIXES, "u", "M", "T", "P", "E", "Mi", "Ti", "Pi", "Ei", "e-6", "E2", "e12"]),
)


@given(texts)
def test_law_the_canonical_text_means_the_same_and_is_its_own_canonical_text(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.sampled_from(list(SUFFIXES))), max_size=6))
def test_law_sums_are_exact(terms: list[tuple[int, str]]) -> None:
    total = sum((Quantity.parse(f"{number}{suffix}") for number, suffix in terms), ZERO)
    assert Fraction(total.nano, 10**9) == sum(
        (number * Fraction(SUFFIXES[suffix]) for number, suffix in terms), Fraction(0)
    )


@given(st.one_of(st.text(max_size=12), st.text("0123456789.+-eEkmGi", max_size=12)))
def test_law_any_text_is_a_quantity_or_a_clear_error(text: str) -> None:
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        refused = error
    else:
        assert Quantity.parse(str(quantity)) == quantity
        return
    assert refused.problem
    assert refused.fix


def test_equal_amounts_are_equal_and_not_different() -> None:
    left, right = Quantity.parse("2Gi"), Quantity.parse("2048Mi")
    assert left == right
    assert (left != right) is False
    assert left != Quantity.parse("2G")
