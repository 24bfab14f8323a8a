"""The grammar of spec strings."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rpd_core.errors import RpdError, SpecError
from rpd_core.plugin.importing import Parameter, describe_target
from rpd_core.plugin.protocols import PolicyLoader
from rpd_core.plugin.registry import Registry
from rpd_core.plugin.specs import (
    Field,
    Spec,
    convert,
    expand_comparison,
    parse,
    split_items,
    split_name,
)


def fields(*names: str, first: Any = str) -> tuple[Field, ...]:
    kinds = [first, *[str] * len(names)]
    return tuple(Field(name, kind) for name, kind in zip(names, kinds, strict=False))


FILE = fields("path", "deterministic", "device")
NESTED = fields("policy", "epsilon", first=PolicyLoader)


def read(text: str, parameters: tuple[Field, ...] = FILE) -> Spec:
    return parse(*split_name(text, "policy"), parameters)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sb3", {}),
        ("sb3:a.zip", {"path": "a.zip"}),
        ("sb3:a.zip,deterministic=false", {"path": "a.zip", "deterministic": "false"}),
        ("sb3:path=a.zip", {"path": "a.zip"}),
        ("sb3:device=cpu,path=a.zip", {"path": "a.zip", "device": "cpu"}),
        ("sb3:./lr=3e-4/a.zip", {"path": "./lr=3e-4/a.zip"}),
        ("sb3:./lr=3e-4/a.zip,device=cpu", {"path": "./lr=3e-4/a.zip", "device": "cpu"}),
        ("sb3:C:/models/a.zip", {"path": "C:/models/a.zip"}),
        ("sb3:'a,b.zip'", {"path": "a,b.zip"}),
        ('sb3:path="a,b.zip",device=cpu', {"path": "a,b.zip", "device": "cpu"}),
        ("sb3:it's.zip", {"path": "it's.zip"}),
        (" sb3: a.zip , device = cpu ", {"path": "a.zip", "device": "cpu"}),
        ("sb3:''", {"path": ""}),
    ],
)
def test_a_spec_gives_these_values(text: str, values: dict[str, str]) -> None:
    spec = read(text)
    assert (spec.name, dict(spec.values)) == ("sb3", values)


def test_values_stand_in_the_order_of_the_fields() -> None:
    assert str(read("sb3:device=cpu,path=a.zip")) == "sb3:a.zip,device=cpu"


def test_a_nested_spec_takes_everything_after_the_colon() -> None:
    for text in ("policy:sb3:a.zip,epsilon=1", "policy:policy=sb3:a.zip,epsilon=1"):
        spec = read(text, NESTED)
        assert dict(spec.values) == {"policy": "sb3:a.zip,epsilon=1"}
        assert str(spec) == "policy:sb3:a.zip,epsilon=1"


def test_a_quoted_nested_spec_leaves_room_for_parameters() -> None:
    spec = read('policy:"sb3:a.zip,device=cpu",epsilon=0.1', NESTED)
    assert dict(spec.values) == {"policy": "sb3:a.zip,device=cpu", "epsilon": "0.1"}
    assert read(str(spec), NESTED) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a policy spec: expected name, name:value or name:key=value"),
        (":a.zip", "is not a policy spec"),
        ("1abc", "is not a policy spec"),
        ("sb3:", "ends after the colon: give a value or leave the colon out"),
        ("sb3: ", "ends after the colon"),
        ("sb3:a.zip,b.zip", "'b.zip' is not a parameter of 'sb3'.*Quote a value that contains"),
        ("sb3:a.zip,devise=cpu", "Did you mean 'device'\\?"),
        ("sb3:a.zip,path=b.zip", "got 'path' twice"),
        ("sb3:device=cpu,device=gpu", "got 'device' twice"),
        ("sb3:'a.zip", "a quote is not closed"),
    ],
)
def test_a_malformed_spec_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_a_component_without_parameters_takes_none() -> None:
    with pytest.raises(SpecError, match="'abs' takes no parameters, got '3'"):
        read("abs:3", ())


def test_commas_inside_quotes_do_not_split() -> None:
    assert split_items("a,'b,c',d=\"e,f\",g") == ["a", "'b,c'", 'd="e,f"', "g"]


WRITABLE = st.text(string.printable + "äß√", max_size=12).filter(
    lambda text: not ("'" in text and '"' in text)
)


@given(st.dictionaries(st.sampled_from(["path", "deterministic", "device"]), WRITABLE))
def test_writing_and_reading_a_spec_gives_it_back(values: dict[str, str]) -> None:
    ordered = {name: values[name] for name in ("path", "deterministic", "device") if name in values}
    spec = Spec("sb3", ordered, "path")
    assert read(str(spec)) == spec


@given(st.text(string.printable, min_size=1, max_size=30))
@example("''")
def test_reading_writing_and_reading_any_text_gives_the_same(text: str) -> None:
    for parameters in (FILE, NESTED):
        try:
            spec = read(f"name:{text}", parameters)
            written = str(spec)
        except SpecError:
            continue
        assert read(written, parameters) == spec


def test_specs_of_equal_values_are_equal_and_hash_alike() -> None:
    assert read("sb3:a.zip") == read("sb3:path=a.zip")
    assert hash(read("sb3:a.zip")) == hash(read("sb3:path=a.zip"))


# ---------------------------------------------------------------- the short form of conditions


@pytest.mark.parametrize("text", ["return>=200", "return>0", "return<-1.5", "length<=30"])
def test_the_short_form_of_a_condition_survives(text: str, registry: Registry) -> None:
    spec = registry.parse("condition", text)
    assert str(spec) == text
    assert registry.parse("condition", str(spec)) == spec


def test_both_forms_of_a_condition_are_the_same(registry: Registry) -> None:
    long = registry.parse("condition", "return:op=>=,bound=200")
    assert long == registry.parse("condition", "return >= 200")
    assert str(long) == "return>=200"


def test_only_conditions_have_the_short_form(registry: Registry) -> None:
    assert expand_comparison("ended:terminated") == "ended:terminated"
    with pytest.raises(SpecError, match="Did you mean 'return>=5'"):
        registry.parse("condition", "return=>5")
    with pytest.raises(SpecError, match="is not a measure spec"):
        registry.parse("measure", "tarantula>=2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("return>=many", "condition 'return': bound must be a number, got 'many'"),
        ("return>=", "bound must be a number, got ''"),
        ("return>>5", "bound must be a number, got '>5'; for example return>=200"),
        ("retrun>=3", "no condition is called 'retrun'. Did you mean 'return'"),
        ("return:op=>=", "condition 'return' needs 'bound'"),
        ("return:op==>,bound=3", "condition 'return': op must be one of >=, >, <=, <, got '=>'"),
        ("return>=1,2", "'2' is not a parameter of 'return'"),
    ],
)
def test_a_wrong_comparison_says_what_is_wrong(text: str, message: str, registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        registry.make("condition", str(registry.parse("condition", text)))
    assert message in str(caught.value)


# ------------------------------------------------------------------------- conversion


def plain(text: str, annotation: Any) -> Any:
    return convert(text, annotation, lambda kind, spec: (kind, spec))


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("3", int, 3),
        ("-0.5", float, -0.5),
        ("1e+3", float, 1000.0),
        ("text", str, "text"),
        ("True", bool, True),
        ("no", bool, False),
        ("0+2", tuple[int, ...], (0, 2)),
        ("3", tuple[int, ...], (3,)),
        ("1e+3+2.5+-1", tuple[float, ...], (1000.0, 2.5, -1.0)),
        ("b", Literal["a", "b"], "b"),
        ("2", Literal[1, 2], 2),
        ("none", int | None, None),
        ("7", int | None, 7),
        ("7.5", int | float, 7.5),
        ("anything", Any, "anything"),
        ("sb3:a.zip", PolicyLoader, ("policy", "sb3:a.zip")),
        ("a+b", str | None, "a+b"),
    ],
)
def test_text_becomes_what_the_field_is_annotated_with(
    text: str, annotation: Any, value: Any
) -> None:
    found = plain(text, annotation)
    assert found == value
    assert type(found) is type(value)


def test_a_path_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert plain("a.zip", Path) == tmp_path / "a.zip"
    assert plain("~/a.zip", Path) == Path.home() / "a.zip"


@pytest.mark.parametrize(
    ("text", "annotation", "message"),
    [
        ("3.5", int, "must be a whole number, got '3.5'"),
        ("x", float, "must be a number, got 'x'"),
        ("maybe", bool, "must be true or false, got 'maybe'"),
        ("publish", Literal["published", "mutation"], "must be one of published, mutation"),
        ("0+x", tuple[int, ...], "must be a whole number, got 'x'"),
        ("x", int | None, "must be a whole number"),
        ("x", dict, "cannot be set in a spec"),
    ],
)
def test_text_of_the_wrong_type_is_refused(text: str, annotation: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plain(text, annotation)


def test_the_registry_makes_components_from_specs(registry: Registry) -> None:
    made = registry.make("abstraction", "round:0+1")
    assert made.digits == (0, 1)
    nested = registry.make("default-action", "policy:python:a:b")
    assert nested.policy.function == "a:b"
    with pytest.raises(SpecError, match="measure 'tarantula': reading must be one of"):
        registry.make("measure", "tarantula:reading=literal")
    with pytest.raises(SpecError, match="abstraction 'select' needs 'entries': write select:<ent"):
        registry.make("abstraction", "select")


def test_what_a_component_learns_is_not_a_parameter(registry: Registry) -> None:
    for name, names in (
        ("bins", ["count", "kind"]),
        ("clusters", ["count"]),
        ("auto", ["coverage", "visits", "episodes", "mutation_rate"]),
    ):
        parameters = registry.describe("abstraction", name).parameters
        assert [parameter.name for parameter in parameters] == names
    learned = "'edges' is learned from episodes and is not a parameter: leave it out"
    for spec in ("bins:6,edges=0", "bins:edges=0", Spec("bins", {"edges": "0"}, "count")):
        with pytest.raises(SpecError, match=rf"^'bins': {learned}$"):
            registry.make("abstraction", spec)
    with pytest.raises(SpecError, match=r"^'auto': 'levels' is learned"):
        registry.make("abstraction", "auto:levels=3")
    with pytest.raises(SpecError, match=r"must be a number, .*'level' is not a parameter of it"):
        registry.make("abstraction", "auto:level=3")
    python = registry.resolve("abstraction", "bins")(edges=((0.5,),))
    assert python.edges == ((0.5,),)
    assert registry.make("abstraction", "bins").edges == ()


def test_a_spec_made_in_python_is_checked_like_a_typed_one(registry: Registry) -> None:
    with pytest.raises(SpecError, match=r"^'cuont' is not a parameter of 'bins'. Did you mean 'co"):
        registry.make("abstraction", Spec("bins", {"cuont": "3"}, "count"))
    with pytest.raises(SpecError, match=r"^'x' is not a parameter of 'abs'. It takes none\.$"):
        registry.make("abstraction", Spec("abs", {"x": "3"}))


@pytest.mark.parametrize("call", ["learned(0)", "rpd.learned(0)", "rpd_core.plugin.learned(0)"])
def test_a_learned_field_is_found_however_it_is_imported(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "learner.py").write_text(
        f"class Learner:\n    size: int = 3\n    centre: int = {call}\n    other: int = learn(0)\n"
    )
    describe_target.cache_clear()
    names = [parameter.name for parameter in describe_target("learner:Learner").parameters]
    assert names == ["size", "other"]


def test_every_installed_component_with_defaults_is_made_from_its_name(registry: Registry) -> None:
    made = 0
    for found in registry.registrations:
        if not found.ready or found.component.requires or found.kind == "command":
            continue  # a command is a function that does something, not a recipe
        parameters: Sequence[Parameter] = registry.describe(
            found.kind, found.component.name
        ).parameters
        if all(parameter.default is not None for parameter in parameters):
            assert registry.make(found.kind, found.component.name) is not None
            made += 1
    assert made > 10


def test_every_spec_error_is_one_of_ours() -> None:
    assert issubclass(SpecError, RpdError)
