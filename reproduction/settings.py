"""Settings of a training and its evaluation, from a profile: one small TOML file each in reproduction/profiles.

A profile has a table for all tasks, one for each task (which overrides it), one of base models, and says beside every
value where it comes from. Whatever is passed on the command line or by papermill overrides the profile.
"""

import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from reproduction.experiments import EXPERIMENTS, Experiment
from reproduction.files import BASES_FOLDER, MADE_BASES_FOLDER, PROFILES_FOLDER


def _setting(default, meaning: str):
    """A field with its default and what it means: `--help` and the reader of this file see the same words."""
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Settings:
    """One training and its evaluation."""

    model: str = field(metadata={"meaning": "a hub id, a folder, or a base of ours"})
    data: str = _setting("builtin", 'where the examples come from: "builtin", "hub" or a folder')
    train_size: int | None = _setting(None, "rows of train to use; all if not set")
    dev_size: int | None = _setting(None, "rows of dev to use; all if not set")
    test_size: int | None = _setting(None, "rows of test to use; all if not set")
    shares: str = _setting("demo", "the profile whose [any_shares] the rules of any shape are drawn by")
    document: int | None = _setting(None, "sentences of a document at most; talks are cut in two to four if not set")
    # training
    steps: int = _setting(1000, "optimizer steps")
    batch: int = _setting(32, "examples that a device sees at a time")
    accumulation: int = _setting(1, "batches per step: a step has batch * accumulation examples on one device")
    alike: bool = _setting(False, "targets of about the same length in each batch: true or false")
    learning_rate: float = _setting(5e-5, "AdamW's learning rate")
    state_rate: float = _setting(1.0, "what NRETM adds learns this many times as fast as the rest")
    query_rate: float = _setting(1.0, "T5's queries learn this many times as fast as the rest")
    schedule: str = _setting("constant", "how the rate changes: a scheduler's name in transformers")
    warmup: int = _setting(0, "steps in which the rate rises from zero")
    beta2: float = _setting(0.999, "AdamW's second beta")
    weight_decay: float = _setting(0.0, "AdamW's weight decay")
    clip: float = _setting(1.0, "largest norm of the gradient")
    freeze: bool = _setting(True, "freeze decoder self-attention, feed-forward, embeddings and LM head: true or false")
    embeddings: bool = _setting(True, "train the embeddings and the LM head, where not frozen already: true or false")
    precision: str = _setting("fp32", "fp32 or bf16")
    evaluate_every: int = _setting(100, "steps between evaluations on dev; a checkpoint is written each time")
    seed: int = _setting(0, "of weights, order of examples and dropout")
    device: str = _setting("auto", 'auto (a GPU where there is one), "cpu" or "cuda"')
    # decoding
    beams: int = _setting(5, "beams on test")
    dev_beams: int = _setting(1, "beams on dev, while training")
    max_new_tokens: int = _setting(100, "longest output, in tokens")
    length_penalty: float = _setting(1.0, "beam scores are divided by length to this power")
    no_repeat_ngram: int = _setting(0, "no n-gram of this size twice in an output; 0 allows all")
    decode_batch: int = _setting(32, "examples decoded at a time")
    enforce: str = _setting("all", 'what is decoded with its rule enforced: "all", or "broken", what breaks it alone')

    def __post_init__(self):
        for entry in fields(self):
            object.__setattr__(self, entry.name, _in_its_type(entry, getattr(self, entry.name)))
        for name in ("steps", "batch", "accumulation", "evaluate_every", "beams", "max_new_tokens", "decode_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least 1.")
        for name, values in (("precision", ("fp32", "bf16")), ("enforce", ("all", "broken"))):
            if getattr(self, name) not in values:
                raise ValueError(f"{name} is {getattr(self, name)!r}: choose {' or '.join(values)}.")

    @property
    def model_path(self) -> str:
        """Where from_pretrained finds the model."""
        ours = [home / self.model for home in (BASES_FOLDER, MADE_BASES_FOLDER) if (home / self.model).is_dir()]
        return str(ours[0]) if ours else self.model


def profile_names() -> list[str]:
    return sorted(path.stem for path in PROFILES_FOLDER.glob("*.toml"))


def read_profile(profile: str) -> dict[str, dict]:
    """The tables of a profile."""
    if profile not in profile_names():
        raise ValueError(f"There is no profile {profile!r}: choose one of {', '.join(profile_names())}.")
    return tomllib.loads((PROFILES_FOLDER / f"{profile}.toml").read_text(encoding="utf-8"))


def experiments_of(profile: str) -> list[Experiment]:
    """The experiments that the profile has a base model for."""
    models = read_profile(profile)["models"]
    return [experiment for experiment in EXPERIMENTS.values() if experiment.base in models]


def settings_for(profile: str, experiment: Experiment, **overrides) -> Settings:
    """The settings of an experiment under a profile; an override of None leaves the profile's value."""
    tables = read_profile(profile)
    if experiment.base not in tables["models"]:
        raise ValueError(f"The profile {profile} has no {experiment.base}, so that {experiment.name} is not run.")
    values = {"model": tables["models"][experiment.base]} | tables["all"] | tables.get(experiment.task, {})
    values |= tables.get(experiment.rule, {})
    values |= {name: value for name, value in overrides.items() if value is not None}
    known = {entry.name for entry in fields(Settings)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"Unknown setting {', '.join(unknown)}: choose from {', '.join(sorted(known))}.")
    return Settings(**values)


def described(settings: Settings) -> dict:
    """For run files: what was set, with folders named rather than their places on this machine."""
    values = asdict(settings)
    for name in ("model", "data"):
        if Path(values[name]).is_absolute():
            values[name] = Path(values[name]).name
    return values


def add_options(parser) -> None:
    """An option for every setting, with what it means; None where it is not given."""
    group = parser.add_argument_group("settings", "each overrides the profile's value")
    for entry in fields(Settings):
        group.add_argument(f"--{entry.name.replace('_', '-')}", metavar="X", help=entry.metadata["meaning"])


def _in_its_type(entry, value):
    """A value in the field's type: papermill and the command line may hand over text."""
    kind = {"int": int, "int | None": int, "float": float, "bool": bool, "str": str}[
        entry.type if isinstance(entry.type, str) else getattr(entry.type, "__name__", str(entry.type))]
    if value is None and entry.default is None:
        return None
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    try:
        if kind is bool or (kind is int and float(value) != int(float(value))):
            raise ValueError
        return kind(float(value)) if kind is int else kind(value)
    except (TypeError, ValueError):
        need = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise ValueError(f"{entry.name} is {value!r}: it must be {need}.") from None
