"""The language: what may be written, what is the same, and where an error points."""

import pickle

import pytest

from gpualto.format import Format, FormatError, named


class TestWriting:
    @pytest.mark.parametrize(
        ("text", "printed"),
        [
            ("()->()", "() -> ()"),
            ("(i,j)->(i:dense,j:compressed)", "(i, j) -> (i : dense, j : compressed)"),
            ("( i )\n -> ( i/4 : compressed, i%4 : dense )", "(i) -> (i / 4 : compressed, i % 4 : dense)"),
            (
                "(i, j) -> (i : compressed(unordered,nonunique), j : singleton)",
                "(i, j) -> (i : compressed(nonunique, unordered), j : singleton)",
            ),
            ("(i, j) -> (i : dense, j : delta(2))", "(i, j) -> (i : dense, j : delta(2))"),
            ("(i, j) -> (i : dense, j : structured(2))", "(i, j) -> (i : dense, j : structured(2))"),
            ("(b, i) -> (b : batch, i : compressed)", "(b, i) -> (b : batch, i : compressed)"),
            (
                "(i) -> (i/4 : dense, (i%4)/2 : dense, i%2 : dense)",
                "(i) -> (i / 4 : dense, i % 4 / 2 : dense, i % 2 : dense)",
            ),
            (
                "(i, j) -> (alto(i, j)/2^16 : compressed, alto(i, j)%2^16 : compressed)",
                "(i, j) -> (alto(i, j) / 2^16 : compressed, alto(i, j) % 2^16 : compressed)",
            ),
            (
                "(i, j) -> ((i+j)/2 : compressed, (i+j)%2 : dense, i : range)",
                "(i, j) -> ((i+j) / 2 : compressed, (i+j) % 2 : dense, i : range)",
            ),
        ],
    )
    def test_printing_is_canonical_and_can_be_read(self, text, printed):
        assert str(Format(text)) == printed
        assert Format(printed) == Format(text)
        assert pickle.loads(pickle.dumps(Format(text))) == Format(text)


class TestMeaning:
    def test_names_do_not_matter(self):
        assert Format("(a, b) -> (a : dense, b : compressed)") == named.CSR()
        assert hash(Format("(a, b) -> (a : dense, b : compressed)")) == hash(named.CSR())

    def test_order_and_types_do(self):
        assert named.CSR() != named.CSC()
        assert named.CSR() != named.DCSR()
        assert named.CSR() != named.CSF(3)

    def test_sums_commute_and_quotients_join(self):
        one = Format("(i, j) -> (i+j : compressed, i : range)")
        assert one == Format("(i, j) -> (j+i : compressed, i : range)")
        nested = Format("(i) -> (i/2/2 : dense, i/2%2 : dense, i%2 : dense)")
        assert nested == Format("(i) -> (i/4 : dense, i%4/2 : dense, i%2 : dense)")


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "problem", "place"),
        [
            ("", "a format begins with its dimensions", ""),
            ("(i", "expected ',' or ')' after a dimension; the text ends here", ""),
            ("(i) (i : dense)", "expected '->'", "("),
            ("(i) -> i : dense", "the levels are in parentheses", "i"),
            ("(i) -> (i)", "expected ':' and the level's type", ")"),
            ("(i) -> (i : dens)", "unknown level type 'dens'; did you mean dense?", "dens"),
            ("(i) -> (i : compressed(uniq))", "unknown property 'uniq'; did you mean unique?", "uniq"),
            ("(i) -> (i : compressed(unique, nonunique))", "says twice whether it is unique", "nonunique"),
            ("(i) -> (i : compressed) x", "nothing may follow the levels", "x"),
            ("(i) -> (i / x : dense)", "expected a block size", "x"),
            ("(i) -> (i : delta)", "delta needs the bits of a gap", ")"),
            ("(i) -> (i : delta(63))", "a gap has at most 62 bits", "63"),
            ("(i) -> (i : structured(0))", "must be positive, got 0", "0"),
            ("(i, j) -> (atlo(i, j) : compressed)", "unknown linearizer atlo; did you mean alto?", "atlo"),
            ("(i, j) -> (alto(i+j) : compressed)", "takes dimensions or their / and % parts", "i+j"),
            ("(i, j) -> (alto(i, j)+i : compressed)", "a linear index cannot be added", "alto(i, j)+i"),
            (
                "(i, j) -> (alto(i, i, j) : compressed)",
                "i repeats what other parts",
                "alto(i, i, j) : compressed",
            ),
            ("(i, b) -> (i : dense, b : batch)", "batch levels come before all others", "b : batch"),
            (
                "(i, j) -> (i : compressed(nonunique), j : dense)",
                "dense below a nonunique level would store cells several times",
                "j : dense",
            ),
            ("(i) -> (i $ 2 : dense)", "expected ':' and the level's type", "$"),
            ("(i) -> (i / 2^2000 : dense)", "a block size of more than 1024 bits", "2^2000"),
        ],
    )
    def test_the_caret_points_at_the_place(self, text, problem, place):
        with pytest.raises(FormatError) as error:
            Format(text)
        assert problem in error.value.problem
        message, shown, carets = str(error.value).split("\n")
        assert message.startswith("format: ")
        marked = shown[carets.index("^") : carets.rindex("^") + 1]
        assert marked.strip() == place

    @pytest.mark.parametrize(
        ("expression", "problem"),
        [
            ("(" * 3000 + "i" + ")" * 3000, "an expression of more than 100 operations"),
            ("i" + " / 2" * 3000, "an expression of more than 100 operations"),
            ("i" + " + i" * 3000, "an expression of more than 100 operations"),
            ("alto(" * 400 + "i" + ")" * 400, "a linearizer takes dimensions or their / and % parts only"),
            ("i / 1" + "0" * 5000, "a number of more than 300 digits"),
        ],
    )
    def test_what_is_too_long(self, expression, problem):
        with pytest.raises(FormatError, match=problem):
            Format(f"(i) -> ({expression} : dense)")

    def test_what_is_no_text(self):
        with pytest.raises(TypeError, match="format: expected text such as"):
            Format(3)


class TestNamed:
    @pytest.mark.parametrize("ndim", [1, 2, 3, 5, 30])
    @pytest.mark.parametrize(
        "make",
        [named.COO, named.CSF, named.ALTO, named.Morton, named.LCO, named.HiCOO, named.BLCO, named.Dense],
    )
    def test_any_number_of_modes(self, make, ndim):
        format = make(ndim)
        assert format.ndim == ndim
        assert Format(str(format)) == format

    def test_the_formats_of_matrices(self):
        texts = {
            named.DCSC(): "(i, j) -> (j : compressed, i : compressed)",
            named.CROW(): "(i, j) -> (i : compressed, j : dense)",
            named.CCOL(): "(i, j) -> (j : compressed, i : dense)",
            named.BSC(2, 3): "(i, j) -> (j / 3 : dense, i / 2 : compressed, i % 2 : dense, j % 3 : dense)",
            named.DIA(): "(i, j) -> (j-i : compressed, j : range)",
        }
        for format, text in texts.items():
            assert str(format) == text

    @pytest.mark.parametrize("order", [(0, 0, 1), (0, 1), (1, 2, 3)])
    def test_an_order_that_is_none(self, order):
        with pytest.raises(ValueError, match="not a permutation of the 3 modes"):
            named.CSF(3, order)

    def test_no_modes(self):
        with pytest.raises(ValueError, match="ndim: expected a positive number of modes, got 0"):
            named.COO(0)
