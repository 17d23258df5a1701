"""Everything public is documented the numpydoc way, and every example prints what it says."""

import doctest
import inspect

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import knapsolve
from knapsolve import datasets, environments, mdp, replay, restless, robots

OBJECTS = [
    pytest.param(getattr(room, name), id=name)
    for room in (knapsolve, environments, datasets, mdp, replay, restless, robots)
    for name in room.__all__
    if inspect.isclass(getattr(room, name)) or inspect.isroutine(getattr(room, name))
]
# Made by the package, not by the user
RESULTS = (
    *(knapsolve.History, knapsolve.InfeasibleError),
    *(replay.Estimate, replay.PolicyReplay, replay.ReplayResult),
    *(restless.ArmIndex, restless.RelaxedBound),
)


def takes_arguments(obj):
    return [name for name in inspect.signature(obj).parameters if name not in ("self", "args", "kwargs")]


def documented(obj):
    return ClassDoc(obj) if inspect.isclass(obj) else FunctionDoc(obj)


def names_in(section):
    return {name.strip().lstrip("*") for entry in section for name in entry.name.split(",")}


@pytest.mark.parametrize("obj", OBJECTS)
def test_public_objects_have_a_summary_and_their_parameters(obj):
    doc = documented(obj)
    assert doc["Summary"]
    if obj not in RESULTS:
        assert names_in(doc["Parameters"]) == set(takes_arguments(obj))


@pytest.mark.parametrize("obj", OBJECTS)
def test_public_objects_cite_and_show_an_example(obj):
    if obj in RESULTS:
        return
    doc = documented(obj)
    assert "".join(doc["References"]).strip(), "no References"
    assert ">>> " in "\n".join(doc["Examples"]), "no Examples"


@pytest.mark.parametrize("obj", [p for p in OBJECTS if not inspect.isclass(p.values[0])])
def test_public_functions_say_what_they_return_and_raise(obj):
    doc = documented(obj)
    assert doc["Returns"]
    assert doc["Raises"] or not takes_arguments(obj)


def public_methods():
    seen = {}
    for cls in [p.values[0] for p in OBJECTS if inspect.isclass(p.values[0])]:
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            ours = member.__module__.startswith("knapsolve.")
            if ours and not name.startswith("_"):
                seen.setdefault(member.__qualname__, member)
    return [pytest.param(member, id=name) for name, member in sorted(seen.items())]


@pytest.mark.parametrize("method", public_methods())
def test_public_methods_are_documented_in_full(method):
    doc = FunctionDoc(method)
    arguments = takes_arguments(method)
    assert doc["Summary"]
    assert names_in(doc["Parameters"]) == set(arguments) | (
        {"kwargs"} if "kwargs" in str(doc["Parameters"]) else set()
    )
    assert doc["Returns"] or method.__annotations__.get("return") in ("None", None)
    assert doc["Raises"] or not arguments


@pytest.mark.parametrize("cls", [p for p in OBJECTS if inspect.isclass(p.values[0])])
def test_public_properties_say_what_they_are(cls):
    properties = inspect.getmembers(cls, lambda member: isinstance(member, property))
    assert all(inspect.getdoc(each) for name, each in properties if not name.startswith("_")), properties


@pytest.mark.parametrize("obj", OBJECTS)
def test_examples_print_what_they_say(obj):
    if not (obj.__module__ or "").startswith("knapsolve"):
        return
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(recurse=True).find(obj, obj.__name__, globs={}):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
