"""Profiles: every value is a setting, has an origin, and can be overridden."""

import argparse
import re
import tomllib
from dataclasses import fields

import pytest

from reproduction.experiments import EXPERIMENTS, experiment_named
from reproduction.files import PROFILES_FOLDER
from reproduction.settings import (
    Settings,
    add_options,
    described,
    experiments_of,
    profile_names,
    read_profile,
    settings_for,
)


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_sets_its_experiments(name):
    for experiment in experiments_of(name):
        assert settings_for(name, experiment).model == read_profile(name)["models"][experiment.base]


@pytest.mark.parametrize("name, talks", [("mini", False), ("small", True)])
def test_profiles_of_real_text_have_no_larger_model_and_mini_has_no_talks(name, talks):
    left_out = set(EXPERIMENTS) - {experiment.name for experiment in experiments_of(name)}
    large = {"commongen-t5-large", "commongen-t5-large-pc", "commongen-t5-large-pc-hat"}
    assert left_out == large | (set() if talks else {name for name in EXPERIMENTS if name.startswith("ted15")})


def test_what_a_profile_has_no_base_for_is_said():
    with pytest.raises(ValueError, match="The profile mini has no mbart, so that ted15-mbart is not run"):
        settings_for("mini", experiment_named("ted15-mbart"))


@pytest.mark.parametrize("name", profile_names())
def test_every_value_says_where_it_is_from(name):
    lines = (PROFILES_FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    values = [line for line in lines if re.match(r"[\w-]+ *=", line)]
    assert len(values) == sum(map(len, tomllib.loads("\n".join(lines)).values()))
    for line in values:
        assert re.search(r"# (paper|earlier code|ours)\b", line), f"no origin: {line}"


def test_the_paper_profile_has_the_papers_settings():
    stories, concepts, documents = (settings_for("paper", experiment_named(name)) for name in
                                    ("r1-nretm", "commongen-t5-large", "ted15-mbart"))
    assert (stories.learning_rate, stories.batch * stories.accumulation, stories.schedule) == (5e-5, 32, "constant")
    assert (concepts.learning_rate, concepts.batch, concepts.accumulation, concepts.no_repeat_ngram) == (5e-5, 48, 4, 3)
    assert (documents.learning_rate, documents.batch * documents.accumulation, documents.steps) == (3e-5, 8, 80_000)
    assert stories.freeze and concepts.freeze and documents.freeze


def test_overrides_win_and_none_leaves_the_profile():
    experiment = experiment_named("r1-t5")
    settings = settings_for("smoke", experiment, steps="7", learning_rate="1e-4", freeze="true", seed=None, data="hub")
    assert (settings.steps, settings.learning_rate, settings.freeze, settings.data) == (7, 1e-4, True, "hub")
    assert settings.seed == settings_for("smoke", experiment).seed


@pytest.mark.parametrize("wrong, said", [
    ({"stepz": 3}, "Unknown setting stepz"), ({"steps": "many"}, "steps is 'many': it must be a whole number"),
    ({"steps": 2.5}, "must be a whole number"), ({"freeze": "perhaps"}, "must be true or false"),
    ({"batch": 0}, "batch is 0: it must be at least 1"), ({"precision": "fp8"}, "choose fp32 or bf16"),
    ({"enforce": "some"}, "choose all or broken")])
def test_wrong_settings_are_refused_in_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said):
        settings_for("smoke", experiment_named("r1-t5"), **wrong)


def test_an_unknown_profile_names_the_known():
    with pytest.raises(ValueError, match="choose one of demo, mini, paper, small, smoke"):
        read_profile("nothing")


def test_no_place_on_this_machine_is_shown(tmp_path):
    settings = settings_for("smoke", experiment_named("r1-t5"), data=str(tmp_path / "stories"))
    assert described(settings)["data"] == "stories"


def test_every_option_says_what_it_sets(capsys):
    parser = argparse.ArgumentParser()
    add_options(parser)
    helps = {action.dest: action.help for action in parser._actions if action.dest != "help"}
    assert set(helps) == {entry.name for entry in fields(Settings)} and all(len(text) > 5 for text in helps.values())
    assert len(set(helps.values())) == len(helps)
    assert vars(parser.parse_args(["--dev-size", "3"]))["dev_size"] == "3"
