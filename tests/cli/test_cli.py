import functools
import os
import pty
import signal
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

import gpualto
from gpualto import CPModel, Tensor
from gpualto.cli import main
from gpualto.cli.components import format_components
from gpualto.decomposition.methods import METHODS
from gpualto.labels import ModeLabels
from tests.cases import DATA, data_file
from tests.oracle import random_tensor

FLIGHTS = str(data_file("flights"))


def test_the_demo_shows_each_component_by_its_labels(run):
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    assert "fit 0.328" in out
    assert out.count("\ncomponent ") == 8
    assert "carrier  DL 0.96" in out
    assert max(map(len, out.splitlines())) <= 110


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        *(
            [c, "--help"]
            for c in ("cpd", "ranks", "show", "info", "check", "convert", "demo", "formats", "warmup")
        ),
    ],
)
def test_help_has_examples(run, capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert "examples:\n  gpualto " in capsys.readouterr().out


class TestFormats:
    def test_all_are_compared_with_alto(self, run):
        status, out, _ = run("formats", FLIGHTS)
        assert status == 0
        rows = {line[:17].strip(): line[17:].split() for line in out.splitlines()[3:]}
        assert list(rows) == ["ALTO", "LCO", "Morton", "COO", "HiCOO(128)", "CSF", "CSF, one per mode"]
        assert rows["ALTO"][:4] == ["177", "kB", "12.0", "1.00"]
        assert float(rows["CSF, one per mode"][2]) > 3 * float(rows["CSF"][2])

    def test_bytes_of_any_format(self, run):
        text = "(i, j, k, l) -> (i : dense, j : compressed, k : compressed, l : compressed)"
        _, out, _ = run("info", FLIGHTS, "--format", text)
        lines = dict(line.strip().split("  ", 1) for line in out.splitlines()[-6:])
        assert lines["i : dense"].split() == ["0", "bytes"]
        assert lines["values"].split() == ["118", "kB", "14,775", "positions"]

    def test_a_format_that_is_none(self, run, capsys):
        with pytest.raises(SystemExit) as stop:
            main(["info", FLIGHTS, "--format", "(i, j) -> (i : dens)"])
        assert stop.value.code == 2
        err = capsys.readouterr().err
        assert "unknown level type 'dens'; did you mean dense?: 'dens' in" in err
        assert err.count("\n") == 1

    def test_a_format_of_another_number_of_modes(self, run):
        assert "i : compressed" in run("info", FLIGHTS, "--format", "CSF")[1]
        status, _, err = run("info", FLIGHTS, "--format", "(i, j) -> (i : dense, j : compressed)")
        assert status == 2
        assert "has 2 modes, the tensor has 4" in err


class TestInfo:
    def test_flights(self, run):
        _, out, _ = run("info", FLIGHTS)
        for line in [
            "shape     16 x 105 x 20 x 12",
            "nonzeros  14,775",
            "density   0.0366",
            "values    float64 from 1 to 125, norm 3412.28",
            "carrier            16       923.4  staged",
            "layout    16 x 105 x 20 x 12: 20 bits in uint32",
            "  j6 j5 j4 k4 j3 k3 l3 i3 j2 k2 l2 i2 j1 k1 l1 i1 j0 k0 l0 i0",
            "COO, 64-bit coordinates      591 kB  40 bytes a nonzero",
            "ALTO, 64-bit words           236 kB  16 bytes a nonzero",
            "ALTO, as stored              177 kB  12 bytes a nonzero",
        ]:
            assert line in out.splitlines()

    def test_who_computes_and_how(self, run, monkeypatch):
        _, out, _ = run("info", FLIGHTS, "--rank", 3)
        assert "MTTKRP at rank 3: compiled by Numba" in out
        assert "  mode 3: staged, 1 segments: one segment writes all rows" in out
        monkeypatch.setenv("GPUALTO_BACKEND", "reference")
        _, out, _ = run("info", FLIGHTS)
        assert 'MTTKRP at rank 16: NumPy reference; for compiled code: pip install "gpualto[cpu]"' in out

    def test_an_index_beyond_64_bits(self, run):
        _, out, _ = run("info", data_file("splatt-med5"))
        assert "66 bits in uint8 + uint64" in out
        assert "ALTO, as stored              1.7 MB  17 bytes a nonzero" in out
        assert "mode 0        60,114       1.664  atomic" in out

    def test_nothing_stored(self, run, tmp_path):
        gpualto.write(tmp_path / "x.npz", Tensor.from_coo([[], []], [], (3, 1)))
        status, out, _ = run("info", tmp_path / "x.npz")
        assert status == 0
        assert "nonzeros  0" in out


class TestCpd:
    def test_flights_at_rank_8(self, run, tmp_path):
        path = tmp_path / "model.npz"
        status, out, err = run("cpd", FLIGHTS, "--rank", 8, "--restarts", 3, "--output", path, "--top", 2)
        assert (status, err) == (0, "")
        assert "rank 8: fit 0.328" in out
        assert f"wrote {path}" in out
        model = CPModel.load(path)
        assert round(model.fit, 3) == 0.328
        assert model.labels[3].name == "month"

    def test_more_than_64_bits(self, run):
        status, out, _ = run("cpd", data_file("splatt-med5"), "--rank", 2, "--sweeps", 2)
        assert status == 0
        assert "component 2" in out

    def test_it_goes_on_from_a_model_with_modes_fixed(self, run, tmp_path):
        first, second = tmp_path / "1.npz", tmp_path / "2.npz"
        run("cpd", FLIGHTS, "--rank", 3, "--sweeps", 4, "--output", first)
        status, *_ = run(
            "cpd", FLIGHTS, "--rank", 3, "--init", first, "--fixed", 0, -1, "--output", second, "--tol", 0
        )
        assert status == 0
        before, after = CPModel.load(first), CPModel.load(second)
        for mode in (0, 3):
            np.testing.assert_array_equal(before.factors[mode], after.factors[mode])
        assert after.fit > before.fit

    def test_ctrl_c_keeps_the_last_complete_sweep(self, run, tmp_path, monkeypatch):
        @functools.wraps(gpualto.cp_als)
        def interrupted(X, rank, callback, **options):
            gpualto.cp_als(X, rank, callback=callback, random_state=0, n_iter_max=3, tol=0)
            raise KeyboardInterrupt

        monkeypatch.setitem(METHODS, "als", interrupted)
        path = tmp_path / "model.npz"
        status, _, err = run("cpd", FLIGHTS, "--rank", 2, "--output", path)
        model = CPModel.load(path)
        assert (status, model.n_iter) == (130, 3)
        assert f"interrupted; wrote the model of sweep 3, fit {model.fit:.6f}, to {path}" in err
        assert "not saved without --output" in run("cpd", FLIGHTS, "--rank", 2)[2]

    def test_ctrl_c_before_the_first_sweep(self, run, tmp_path, monkeypatch):
        @functools.wraps(gpualto.cp_als)
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setitem(METHODS, "als", interrupted)
        status, _, err = run("cpd", FLIGHTS, "--rank", 2, "--output", tmp_path / "model.npz")
        assert status == 130
        assert "no sweep was complete, nothing was written" in err
        assert list(tmp_path.iterdir()) == []

    def test_a_signal_from_the_terminal(self, tmp_path):
        path = tmp_path / "model.npz"
        command = [sys.executable, "-m", "gpualto", "cpd", FLIGHTS, "--rank", "16", "--tol", "0"]
        subprocess.run([*command, "--sweeps", "1"], check=True, capture_output=True)  # compiles
        for seconds in (3, 20, 60):  # until it is in its sweeps, on a machine that has other work
            process = subprocess.Popen(
                [*command, "--sweeps", "1000000", "--output", str(path)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stdout.readline().startswith("gpualto.Tensor")
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            assert process.returncode == 130
            if path.exists():
                break
            assert "interrupted; no sweep was complete" in err
        assert "interrupted; wrote the model of sweep" in err
        assert CPModel.load(path).rank == 16

    @pytest.mark.parametrize(
        ("method", "measure"),
        [("nn", ""), ("apr", "log-likelihood"), ("complete", "RMSE"), ("opt", "objective")],
    )
    def test_other_methods(self, run, method, measure):
        status, out, _ = run("cpd", FLIGHTS, "--rank", 2, "--method", method, "--sweeps", 5)
        assert status == 0
        assert measure in out
        assert "component 2" in out

    def test_the_error_at_entries_held_out(self, run):
        _, out, _ = run("cpd", FLIGHTS, "--rank", 2, "--method", "complete", "--held-out", 0.1, "--l2", 0.5)
        assert "held-out RMSE" in out

    def test_an_option_of_another_method_is_refused(self, run):
        status, _, err = run("cpd", FLIGHTS, "--rank", 2, "--method", "apr", "--l2", 1)
        assert status == 2
        assert err == "gpualto cpd: --l2: is not for --method apr, only for als, nn, complete, opt\n"

    def test_a_profile_shows_where_the_time_went(self, run):
        _, out, _ = run("cpd", FLIGHTS, "--rank", 2, "--sweeps", 3, "--tol", 0, "--profile")
        table = {line.split()[0]: line for line in out.splitlines() if line.endswith(" times")}
        assert set(table) == {"mttkrp", "update", "fit"}
        assert "12 times" in table["mttkrp"]
        assert "3 times" in table["fit"]

    @pytest.mark.parametrize("output", ["model.txt", "nowhere/model.npz", "folder.npz"])
    def test_an_output_that_cannot_be_written_is_refused_before_the_work(self, run, tmp_path, output):
        (tmp_path / "folder.npz").mkdir()
        status, out, err = run("cpd", FLIGHTS, "--rank", 2, "--output", tmp_path / output)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1

    def test_the_bar_shows_on_a_terminal_and_not_in_a_pipe(self, tmp_path):
        command = [
            sys.executable,
            "-m",
            "gpualto",
            "cpd",
            FLIGHTS,
            "--rank",
            "32",
            "--tol",
            "0",
            "--sweeps",
            "500",
        ]
        quiet = subprocess.run(command, capture_output=True, text=True, check=True)
        assert quiet.stderr == ""
        terminal, end = pty.openpty()
        termios.tcsetwinsize(end, (24, 100))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end)
        os.close(end)
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # what Linux gives when the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        assert process.wait(timeout=30) == 0
        assert b"fit 0." in shown
        assert b"change" in shown


class TestPictures:
    @pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
    def test_a_picture_is_drawn_by_suffix(self, run, tmp_path, suffix, start):
        path = tmp_path / f"x.{suffix}"
        status, out, _ = run("cpd", FLIGHTS, "--rank", 2, "--sweeps", 2, "--plot", path)
        assert status == 0
        assert f"wrote {path}" in out
        assert path.read_bytes().startswith(start)

    def test_other_suffixes_are_refused_before_the_work(self, run, tmp_path):
        status, out, err = run("demo", "--plot", tmp_path / "x.jpeg")
        assert (status, out) == (2, "")
        assert "expected a name that ends in .png or .svg or .pdf" in err

    def test_without_matplotlib_the_pip_command_is_named(self, run, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        status, out, err = run("demo", "--plot", tmp_path / "x.png")
        assert (status, out) == (2, "")
        assert 'pip install "gpualto[plot]"' in err


class TestCheck:
    def test_a_clean_file(self, run):
        status, out, _ = run("check", FLIGHTS)
        assert status == 0
        assert "14,775 readable nonzeros, no problems; indices count from 1, shape 16 x 105 x 20 x 12" in out

    def test_problems_line_by_line_and_the_rest_kept(self, run, tmp_path):
        path, fixed = tmp_path / "x.tns", tmp_path / "y.tns"
        path.write_text("1 1 1.0\n1 x 1.0\n1 1 2.0\n3 2 nan\n2 2 5.0\n")
        status, out, _ = run("check", path, "--fix", fixed)
        assert status == 1
        assert out.splitlines() == [
            f"{path}: line 2: mode 1: the index 'x' is not an integer",
            f"{path}: line 3: repeats the coordinates of line 1",
            f"{path}: line 4: the value nan is not finite",
            f"{path}: 3 readable nonzeros, 3 problems; indices count from 1, shape 2 x 2",
            f"wrote {fixed}: 2 nonzeros; 1 lines summed into earlier ones, 2 lines left out",
        ]
        assert gpualto.read(fixed).todense().tolist() == [[3, 0], [0, 5]]
        assert run("check", fixed)[0] == 0

    def test_an_index_zero_asks_what_the_file_counts_from(self, run, tmp_path):
        path, fixed = tmp_path / "x.tns", tmp_path / "y.tns"
        path.write_text("1 1 1.0\n0 1 2.0\n")
        status, out, _ = run("check", path)
        assert status == 1
        assert "line 2: mode 0: the index 0 is below the index base 1" in out
        assert "does the file count from 0 (--index-base 0), or are they wrong (1)?" in out
        status, _, err = run("check", path, "--fix", fixed)
        assert (status, fixed.exists()) == (2, False)
        assert "there are indices 0" in err
        assert run("check", path, "--fix", fixed, "--index-base", 1)[0] == 1
        assert gpualto.read(fixed).nnz == 1

    def test_what_is_fixed_keeps_its_labels(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("1 1 1.0\n1 1 1.0\n")
        (tmp_path / "x.mode-1-who.map").write_text("Ann\nBob\n")
        assert "shape 2 x 1" in run("check", tmp_path / "x.tns", "--fix", tmp_path / "y.tns")[1]
        assert gpualto.read(tmp_path / "y.tns").labels[0] == ModeLabels("who", ("Ann", "Bob"))

    def test_a_file_is_not_fixed_onto_itself(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("1 1 1.0\n")
        status, _, err = run("check", tmp_path / "x.tns", "--fix", tmp_path / "x.tns")
        assert status == 2
        assert "is the file itself" in err

    def test_a_file_counted_from_zero_is_fixed_to_one(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("0 1 1.0\n")
        status, out, _ = run("check", tmp_path / "x.tns", "--fix", tmp_path / "y.tns", "--index-base", 0)
        assert status == 0
        assert "indices count from 0" in out
        assert gpualto.read(tmp_path / "y.tns").coords.tolist() == [[0], [1]]

    def test_no_more_than_the_limit_is_printed(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("1 x 1\n" * 30)
        _, out, _ = run("check", tmp_path / "x.tns", "--limit", 5)
        assert len(out.splitlines()) == 7
        assert "... and 25 more; --limit 30 shows all" in out

    def test_labels_are_checked(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("2 1 1\n")
        (tmp_path / "x.mode-1-who.map").write_text("Ann\n")
        status, out, err = run("check", tmp_path / "x.tns")
        assert (status, out) == (2, "")
        assert "who has 1 labels for a length of 2" in err

    def test_an_archive(self, run, tmp_path):
        gpualto.write(tmp_path / "x.npz", random_tensor(0, (3, 4), 5))
        assert run("check", tmp_path / "x.npz")[0] == 0
        (tmp_path / "x.npz").write_bytes(b"?")
        assert run("check", tmp_path / "x.npz")[0] == 2


class TestConvert:
    def test_there_and_back(self, run, tmp_path):
        assert run("convert", FLIGHTS, tmp_path / "x.npz")[0] == 0
        assert run("convert", tmp_path / "x.npz", tmp_path / "y.tns.gz", "--output-base", 0)[0] == 0
        X = gpualto.read(tmp_path / "y.tns.gz", index_base=0)
        assert gpualto.datasets.flights() == X
        assert X.labels == gpualto.datasets.flights().labels

    def test_the_base_of_the_input(self, run, tmp_path):
        (tmp_path / "x.tns").write_text("0 1 2.5\n")
        assert run("convert", tmp_path / "x.tns", tmp_path / "y.npz", "--index-base", "auto")[0] == 0
        assert gpualto.read(tmp_path / "y.npz")[0, 1] == 2.5


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["info", "missing.tns"], "gpualto info: missing.tns: No such file or directory"),
            (
                ["info", DATA / "splatt-small4_zeroidx.tns"],
                "line 2: mode 3: the index 0 is below the index base 1",
            ),
            (
                ["cpd", FLIGHTS, "--rank", "2", "--tol", "nan"],
                "gpualto cpd: --tol: expected a number that is not negative, got nan",
            ),
            (["cpd", FLIGHTS, "--rank", "2", "--init", "missing.npz"], "missing.npz: No such file"),
            (["cpd", FLIGHTS, "--rank", "2", "--fixed", "0"], "--fixed: [0] need factors to stay at"),
            (["convert", FLIGHTS, "out.xlsx"], "out.xlsx: expected a name that ends in .tns or .npz or .csv"),
            (["info", "."], "does not end in .tns"),
            (["check", "x.csv"], "x.csv: is a table, and this is for .tns files; gpualto info reads tables"),
            (["cpd", "x.xlsx", "--rank", "2", "--modes", "a,b"], "is for tables (.csv, .tsv, .parquet), and"),
            (["info", "x.xlsx"], "other tables can be saved as .csv or .parquet"),
        ],
    )
    def test_they_take_one_line_and_status_2(self, run, arguments, message):
        status, out, err = run(*arguments)
        assert (status, out.count("Traceback")) == (2, 0)
        assert message in err
        assert len(err.splitlines()) == 1

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["fly"],
            ["cpd", FLIGHTS],
            ["cpd", FLIGHTS, "--rank", "0"],
            ["cpd", FLIGHTS, "--rank", "2", "--seed", "-1"],
            ["info", FLIGHTS, "--rank", "x"],
            ["info", FLIGHTS, "--index-base", "2"],
            ["check", FLIGHTS, "--limit", "-1"],
            ["info", FLIGHTS, "--drop_missing"],
        ],
    )
    def test_wrong_usage_takes_one_line_and_status_2(self, arguments, capsys):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        err = capsys.readouterr().err
        assert err.startswith("gpualto")
        assert err.endswith("--help\n")
        assert len(err.splitlines()) == 1

    def test_a_closed_pipe_is_quiet(self):
        command = f"{sys.executable} -m gpualto cpd {FLIGHTS} --rank 60 --sweeps 1 --top 100 | head -1"
        script = f"{command}; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert result.stderr == ""
        assert result.stdout.splitlines()[-1] == "141"

    def test_a_pipe_that_is_closed_before_the_first_line(self):
        script = f"{sys.executable} -m gpualto info {FLIGHTS} | true; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert (result.stdout, result.stderr) == ("141\n", "")


class TestComponents:
    labels = (ModeLabels("who", ("Ann", "Bob", "Cy")), ModeLabels())

    def test_the_largest_entries_by_size_with_their_sign(self):
        model = CPModel(
            [3.0, 1.0], [[[0.6, 0.0], [-0.8, 1.0], [0.01, 0.0]], [[1.0, 0.0], [0.0, 0.0]]], self.labels
        )
        assert format_components(model, top=2).splitlines() == [
            "component 1: weight 3, 75% of all",
            "     who  Bob -0.80  Ann 0.60",
            "  mode 1  0 1.00",
            "",
            "component 2: weight 1, 25% of all",
            "     who  Bob 1.00",
            "  mode 1  -",
        ]

    def test_a_model_of_nothing(self):
        assert "weight 0, 0% of all" in format_components(CPModel([0.0], [[[0.0]]]), top=3)
