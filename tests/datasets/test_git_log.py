"""Change times of a repository's files are those of its history."""

import subprocess

import numpy as np
import pytest

from knapsolve.datasets import from_git_log
from knapsolve.replay import replay
from tests.repositories import DAY, FIRST, Repository, make_repository

LONG = "\n".join(f"line {k} of a text that is long enough to be known again" for k in range(30))


def days_of(log):
    """Days since the first commit, by file."""
    items, times = log
    days = (times - FIRST) / DAY
    return {item: days[items == item].tolist() for item in dict.fromkeys(items.tolist())}


def test_every_commit_of_a_file_is_a_change(tmp_path):
    make_repository(tmp_path)
    log = from_git_log(tmp_path)
    assert days_of(log) == {"a": [0, 1, 2, 4], "b": [0, 8]}
    assert (np.diff(log.times) >= 0).all()
    result = replay(log, 2 / DAY, ["uniform"], split=None, random_state=0)
    assert result.items.tolist() == ["a", "b"] and result.n_changes.tolist() == [3, 1]


def test_a_folder_inside_the_repository_will_do(tmp_path):
    mine = make_repository(tmp_path)
    mine.commit(9, {"docs/c": "1"})
    assert days_of(from_git_log(tmp_path / "docs"))["a"] == [0, 1, 2, 4]


NAMES = ["with space", 'quo"te', "new\nline", "tab\tin", "ümläut/日本.txt", ":colon", "-dash", "M", "R100", "17",
         "back\\s", " edges "]  # fmt: skip


def test_any_name_comes_out_as_it_is(tmp_path):
    mine = Repository(tmp_path)
    mine.commit(0, dict.fromkeys(NAMES, "1"))
    for day, name in enumerate(NAMES, 1):
        mine.commit(day, {name: "2"})
    assert days_of(from_git_log(tmp_path)) == {name: [0, day] for day, name in enumerate(NAMES, 1)}


def test_names_that_are_no_text_are_told_apart(tmp_path):
    mine = Repository(tmp_path)
    mine.commit(0, {b"raw\xff": "1", b"raw\xfe": "22"})
    mine.commit(1, {b"raw\xff": b"\0binary\xff"})
    assert days_of(from_git_log(tmp_path)) == {"raw\\xff": [0, 1], "raw\\xfe": [0]}


def test_a_renamed_file_is_one_item_and_moving_alone_is_no_change(tmp_path):
    mine = Repository(tmp_path)
    mine.commit(0, {"old": LONG, "other": "1"})
    mine.commit(1, {"old": LONG + "\nmore"})
    mine.git("mv", "old", "middle")
    mine.commit(2)
    mine.git("mv", "middle", "new name")
    mine.commit(3, {"new name": LONG + "\nmore and more"})
    mine.commit(5, {"old": "another file of the old name"})
    assert days_of(from_git_log(tmp_path)) == {"new name": [0, 1, 3], "other": [0], "old": [5]}
    plain = days_of(from_git_log(tmp_path, follow_renames=False))
    assert plain == {"old": [0, 1, 2, 5], "other": [0], "middle": [2, 3], "new name": [3]}


def test_coming_and_going_and_coming_again_are_changes(tmp_path):
    mine = make_repository(tmp_path)
    mine.commit(9, gone=["a"])
    mine.commit(11, {"a": "again"})
    assert days_of(from_git_log(tmp_path))["a"] == [0, 1, 2, 4, 9, 11]


def merged(tmp_path):
    mine = Repository(tmp_path)
    mine.commit(0, {"a": "1", "b": "1"})
    mine.git("checkout", "-q", "-b", "side")
    mine.commit(1, {"a": "2"})
    mine.commit(2, {"a": "3"})
    mine.git("checkout", "-q", "main")
    mine.commit(3, {"b": "2"})
    mine.git("merge", "-q", "--no-ff", "-m", "merge", "side", day=6)
    return mine


def test_merges_bring_nothing_twice(tmp_path):
    merged(tmp_path)
    assert days_of(from_git_log(tmp_path)) == {"a": [0, 1, 2], "b": [0, 3]}


def renamed_on_a_side(folder):
    """A repository whose file "old" is edited beside a branch that renames it to "new"."""
    mine = Repository(folder)
    mine.commit(0, {"old": LONG, "other": "1"})
    mine.git("checkout", "-q", "-b", "side")
    mine.git("mv", "old", "new")
    mine.commit(1)
    mine.git("checkout", "-q", "main")
    mine.commit(2, {"old": LONG + "\nmore"})
    return mine


def test_edits_beside_a_rename_on_another_branch_are_of_the_same_file(tmp_path):
    mine = renamed_on_a_side(tmp_path)
    mine.commit(3, {"other": "2"})
    mine.git("merge", "-q", "--no-ff", "-m", "merge", "side", day=6)
    mine.commit(7, {"new": LONG + "\nmore and more"})
    assert days_of(from_git_log(tmp_path)) == {"new": [0, 2, 7], "other": [0, 3]}
    mine.commit(8, {"old": "another"})
    mine.commit(9, {"old": "another still"})
    assert days_of(from_git_log(tmp_path))["new"][:1] == [0]
    assert days_of(from_git_log(tmp_path))["old"][-2:] == [8, 9]


def test_a_rename_that_a_merge_drops_takes_no_later_edits(tmp_path):
    mine = renamed_on_a_side(tmp_path)
    mine.git("merge", "-q", "-s", "ours", "-m", "drop the rename", "side", day=3)
    mine.commit(4, {"old": LONG + "\nmore and more"})
    assert days_of(from_git_log(tmp_path))["old"] == [2, 4]


def test_who_watches_the_branch_sees_a_merge_when_it_is_merged(tmp_path):
    merged(tmp_path)
    assert days_of(from_git_log(tmp_path, first_parent=True)) == {"a": [0, 6], "b": [0, 3]}
    assert days_of(from_git_log(tmp_path, revision="side")) == {"a": [0, 1, 2], "b": [0]}


def test_clocks_that_differ_and_dates_of_authors(tmp_path):
    mine = Repository(tmp_path)
    mine.commit(5, {"a": "1", "b": "1"}, author_day=1)
    mine.commit(4, {"a": "2"}, author_day=2)
    log = from_git_log(tmp_path)
    assert (np.diff(log.times) >= 0).all()
    assert days_of(log) == {"a": [4, 5], "b": [5]}
    assert days_of(from_git_log(tmp_path, date="author")) == {"a": [1, 2], "b": [1]}


def test_paths_choose_files(tmp_path):
    mine = make_repository(tmp_path)
    mine.commit(9, {"docs/c.md": "1"})
    assert days_of(from_git_log(tmp_path, paths=["docs", "b"])) == {"b": [0, 8], "docs/c.md": [9]}
    with pytest.raises(ValueError, match=r"files in its history that match \['none'\]"):
        from_git_log(tmp_path, paths=["none"])


def test_the_environment_of_a_hook_leads_nowhere_else(tmp_path, monkeypatch):
    make_repository(tmp_path / "mine")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert set(days_of(from_git_log(tmp_path / "mine"))) == {"a", "b"}


def test_a_users_settings_change_nothing(tmp_path):
    mine = make_repository(tmp_path)
    mine.git("config", "log.showSignature", "true")
    mine.git("config", "color.ui", "always")
    mine.git("config", "diff.renames", "copies")
    mine.git("config", "log.diffMerges", "separate")
    mine.git("config", "core.quotePath", "true")
    assert days_of(from_git_log(tmp_path)) == {"a": [0, 1, 2, 4], "b": [0, 8]}


def test_a_shallow_clone_is_warned_of(tmp_path):
    make_repository(tmp_path / "mine")
    source = f"file://{tmp_path / 'mine'}"
    subprocess.run(["git", "clone", "-q", "--depth", "2", source, tmp_path / "clone"], check=True, capture_output=True)
    with pytest.warns(UserWarning, match="shallow"):
        assert days_of(from_git_log(tmp_path / "clone")) == {"a": [4], "b": [4, 8]}


def test_an_empty_repository_and_none_are_refused(tmp_path):
    mine = Repository(tmp_path / "empty")
    with pytest.raises(ValueError, match="an empty repository, or no such revision"):
        from_git_log(tmp_path / "empty")
    mine.commit(0)
    with pytest.raises(ValueError, match="path must hold a repository with files"):
        from_git_log(tmp_path / "empty")
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"path must be the folder of a git repository.*not a git repository"):
        from_git_log(tmp_path / "none")
    with pytest.raises(ValueError, match="there is no folder"):
        from_git_log(tmp_path / "gone")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"revision": "--all"}, "revision must be"),
        ({"revision": "nowhere"}, "no such revision"),
        ({"revision": 7}, "revision must be"),
        ({"paths": "docs"}, "paths must be a sequence"),
        ({"paths": [1]}, "paths must be a sequence"),
        ({"date": "birth"}, "date must be one of"),
        ({"first_parent": "yes"}, "first_parent must be True or False"),
        ({"follow_renames": None}, "follow_renames must be True or False"),
        ({"path": 3}, "path must be a folder"),
    ],
)
def test_bad_parameters_are_named(tmp_path, bad, message):
    make_repository(tmp_path)
    with pytest.raises((ValueError, TypeError), match=message):
        from_git_log(**({"path": tmp_path} | bad))


def test_without_git_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="git must be installed"):
        from_git_log(tmp_path)


def test_settings_of_the_user_change_nothing(tmp_path):
    make_repository(tmp_path).commit(9, {"c": "2"}, gone=["b"])
    expected = days_of(from_git_log(tmp_path))
    for setting in ("log.showRoot", "false"), ("diff.relative", "true"), ("log.follow", "true"):
        subprocess.run(["git", "-C", str(tmp_path), "config", *setting], check=True)
    assert days_of(from_git_log(tmp_path)) == expected
    assert days_of(from_git_log(tmp_path, paths=["c"])) == {"c": [9]}
