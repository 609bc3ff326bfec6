"""Tables, pictures and pages by the command line."""

import re

import pandas as pd
import pytest

import gpualto


@pytest.fixture(scope="module")
def flights_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "flights.csv"
    gpualto.write(path, gpualto.datasets.flights())
    return path


MODES = ("--modes", "carrier,dest,hour,month", "--value", "value")


@pytest.mark.parametrize("method", ["als", "nn", "apr"])
def test_from_a_csv_to_components_pictures_tables_and_a_page(run, flights_csv, tmp_path, method):
    files = {option: tmp_path / name for option, name in (("--plot", "a.png"), ("--table", "a.csv"))}
    files |= {"--report": tmp_path / "a.html", "--output": tmp_path / "a.npz"}
    outputs = [argument for item in files.items() for argument in item]
    arguments = ("cpd", flights_csv, *MODES, "--rank", 3, "--sweeps", 10, "--method", method, *outputs)
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    assert out.count("\ncomponent ") == 3
    for path in files.values():
        assert f"wrote {path}" in out
        assert path.stat().st_size > 0
    assert len(pd.read_csv(tmp_path / "a.csv")) == 3 * (16 + 105 + 20 + 12)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"<code>gpualto cpd {flights_csv} --modes carrier,dest,hour,month --value value" in page
    assert "<h1>flights, 3 components</h1>" in page


def test_info_and_convert_take_tables(run, flights_csv, tmp_path):
    assert "16 x 105 x 20 x 12" in run("info", flights_csv, *MODES)[1]
    target = tmp_path / "flights.tns"
    assert run("convert", flights_csv, target, *MODES)[0] == 0
    assert gpualto.read(target) == gpualto.datasets.flights()
    assert run("convert", target, tmp_path / "again.csv")[0] == 0
    assert (tmp_path / "again.csv").read_bytes() == flights_csv.read_bytes()


def test_bins_by_name(run, tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text(
        "when,delay,a:b\n2013-01-05 07:10:00,3,x\n2013-01-06 08:00:00,40,y\n2013-03-01 07:59:59,15,x\n"
    )
    modes = "when:month,when:hour-of-day,delay:0/15/60,a:b"
    _, out, _ = run("convert", path, tmp_path / "trips.csv.gz", "--modes", modes)
    assert "2 x 24 x 2 x 2" in out
    table = pd.read_csv(tmp_path / "trips.csv.gz")
    assert table["when by month"].tolist().count("2013-01") == 2
    assert set(table["delay"]) == {"[0, 15)", "[15, 60]"}
    assert "3 nonzeros" in run("formats", path, "--modes", "delay:2,a:b")[1]


def test_names_with_commas_stand_in_quotes(run, tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text('"town, state","when, local",n\n"Troy, NY",2024-01-05,2\n"Troy, MI",2024-02-05,3\n')
    arguments = (
        "convert",
        path,
        tmp_path / "out.csv",
        "--modes",
        '"town, state", "when, local":month',
        "--value",
        "n",
    )
    assert "2 x 2, " in run(*arguments)[1]
    assert list(pd.read_csv(tmp_path / "out.csv")["town, state"]) == ["Troy, NY", "Troy, MI"]


def test_rows_without_a_value_are_left_out_on_request(run, tmp_path):
    path = tmp_path / "rides.csv"
    path.write_text("from,to,when\nA,B,2024-01-01 07:00\nA,,2024-01-01 08:00\nB,A,\nB,A,2024-02-01 09:00\n")
    modes = ("--modes", "from,to,month=when:month")
    status, _, err = run("info", path, *modes)
    assert (status, err.count("\n")) == (2, 1)
    assert (
        "column 'to': rows without a value (None, NaN or NaT): 1, the first row 1 (from 0); --drop-missing"
        in err
    )
    status, out, _ = run("info", path, *modes, "--drop-missing")
    assert out.startswith("left out 2 of 4 rows, which have no value in one of the columns\n")
    assert "2 x 2 x 2" in out
    assert "month" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "is a table; say which columns become modes, .* by --modes A,B --value C; it has carrier, dest"),
        (("--modes", "carrier,nobody"), "column 'nobody': not in the table, which has carrier, dest"),
        (("--modes", "carrier, dset"), "column 'dset': .*; did you mean dest\\?"),
        (
            ("--modes", "carrier,hour:century"),
            "there are no bins 'century' as in 'hour:century'; known are year, .* hour-of-day, 5",
        ),
        (("--modes", "hour:0/x"), "--modes: the edges in 'hour:0/x' are not all numbers"),
        (("--modes", "carrier\ndest"), "--modes: cannot be split at its commas: new-line"),
        (("--modes", ""), "--modes: a tensor has at least one mode"),
        (("--modes", "carrier,carrier"), "--modes: 'carrier' is there twice"),
        (
            ("--modes", "carrier", "--value", "dest"),
            "column 'dest': expected numbers, got text such as 'ALB' in row 0",
        ),
        (("--modes", "carrier", "--index-base", "0"), "--index-base: is for .tns files"),
    ],
)
def test_what_is_wrong_takes_a_line(run, flights_csv, arguments, message):
    status, _, err = run("info", flights_csv, *arguments)
    assert status == 2
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_options_of_tables_are_for_tables(run, tmp_path):
    target = tmp_path / "x.tns"
    gpualto.write(target, gpualto.datasets.flights())
    status, _, err = run("info", target, "--modes", "a")
    assert (status, "--modes: is for tables" in err) == (2, True)


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--report", "a.pdf", "expected a name that ends in .html"),
        ("--table", "a.xlsx", "expected a name that ends in .csv or .tsv or .parquet"),
        ("--table", "a.parquet.gz", "expected a name that ends in .csv or .tsv or .parquet"),
        ("--output", "a.npz.gz", "expected a name that ends in .npz"),
        ("--report", "a.html.gz", "expected a name that ends in .html"),
        ("--plot", "a.svg.bz2", "expected a name that ends in .png"),
        ("--plot", "a.html", "expected a name that ends in .png"),
        ("--report", "missing/a.html", "there is no folder"),
    ],
)
def test_names_are_checked_before_the_work(run, flights_csv, tmp_path, option, name, message):
    status, out, err = run("cpd", flights_csv, *MODES, "--rank", 2, option, tmp_path / name)
    assert (status, out) == (2, "")
    assert message in err


def test_ranks_are_compared(run, flights_csv, tmp_path):
    options = ("--ranks", 1, 2, "--restarts", 1, "--method", "nn", "--plot", tmp_path / "a.svg")
    status, out, err = run("ranks", flights_csv, *MODES, *options)
    assert (status, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if line.strip()[:2] in ("1 ", "2 ")]
    assert [float(row[1]) for row in rows] == pytest.approx([0.105, 0.157], abs=2e-3)
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_mode_without_bins_that_wants_some_is_named(run, tmp_path):
    path = tmp_path / "rides.csv"
    rows = "".join(f"A,{minute}.5\n" for minute in range(300))
    path.write_text(f"from,minutes\n{rows}")
    status, _, err = run("info", path, "--modes", "from,minutes")
    assert status == 0
    assert "minutes has 300 values in 300 rows" in err
    assert run("info", path, "--modes", "from,minutes:5")[2] == ""


def test_a_saved_model_is_shown(run, flights_csv, tmp_path):
    model = tmp_path / "a.npz"
    _, fitted, _ = run("cpd", flights_csv, *MODES, "--rank", 2, "--output", model)
    outputs = [
        argument for name in ("plot a.png", "table b.csv", "report a.html") for argument in name.split()
    ]
    outputs = [f"--{name}" if n % 2 == 0 else tmp_path / name for n, name in enumerate(outputs)]
    status, out, err = run("show", model, *outputs)
    assert (status, err) == (0, "")
    assert fitted[fitted.index("component 1") : fitted.index("wrote")] in out
    assert out.count("wrote ") == 3
    status, _, err = run("info", model)
    assert (status, "holds a gpualto CP model 1, expected a gpualto tensor 1; gpualto show" in err) == (
        2,
        True,
    )


def test_names_may_leave_out_spaces_and_be_others(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(" user kind, n\nann,1\nbob,2\n")
    out = run("convert", path, tmp_path / "b.csv", "--modes", "kind=user kind", "--value", "n")[1]
    assert "wrote" in out
    assert list(pd.read_csv(tmp_path / "b.csv").columns) == ["kind", "value"]


def test_letters_that_no_font_has_take_one_line(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("who,n\n一二三,1\n四五六,2\n", encoding="utf-8")
    arguments = ("cpd", path, "--modes", "who", "--value", "n", "--rank", 1)
    status, _, err = run(*arguments, "--plot", tmp_path / "a.png")
    assert (status, err.count("\n")) == (0, 1)
    assert "shows boxes for letters that its font lacks" in err
    assert run(*arguments, "--report", tmp_path / "a.html")[2] == ""


def test_components_in_words(run, flights_csv, tmp_path):
    out = run(
        "cpd", flights_csv, *MODES, "--rank", 2, "--sweeps", 5, "--describe", "--output", tmp_path / "m.npz"
    )[1]
    model = gpualto.CPModel.load(tmp_path / "m.npz")
    assert model.describe() in out
    assert model.describe() in run("show", tmp_path / "m.npz", "--describe")[1]


def test_ranks_of_incomplete_data(run, flights_csv):
    status, out, _ = run(
        "ranks", flights_csv, *MODES, "--method", "complete", "--ranks", 1, "--splits", 0, "--restarts", 1
    )
    assert status == 0
    assert "held-out RMSE" in out
    status, _, err = run("ranks", flights_csv, *MODES, "--held-out", 0.2)
    assert (status, "--held-out: is not for --method als" in err) == (2, True)
