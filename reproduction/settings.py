"""Settings of a training and its evaluation, from a profile: one small TOML file each in reproduction/profiles.

A profile has a table for all tasks, one for each task (which overrides it), one of base models, and says beside every
value where it comes from. Whatever is passed on the command line or by papermill overrides the profile.
"""

import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from reproduction.experiments import EXPERIMENTS, Experiment
from reproduction.files import BASES_FOLDER, MADE_BASES_FOLDER, PROFILES_FOLDER


@dataclass(frozen=True)
class Settings:
    """One training and its evaluation. Sizes of None mean all there is."""

    # what
    model: str  # a hub id, a folder, or the name of a base that comes with the package
    data: str = "builtin"  # or "hub", or a folder
    train_size: int | None = None  # rows of each split
    dev_size: int | None = None
    test_size: int | None = None
    shares: str = "demo"  # the profile whose [any_shares] the rules of any shape are drawn by
    # training
    steps: int = 1000
    batch: int = 32
    accumulation: int = 1  # a step has batch * accumulation examples on one device
    alike: bool = False  # targets of about one length to a batch
    learning_rate: float = 5e-5
    state_rate: float = 1.0  # the rate of what NRETM adds is this many times the others'
    schedule: str = "constant"  # a name that transformers knows
    warmup: int = 0
    beta2: float = 0.999
    weight_decay: float = 0.0
    clip: float = 1.0
    freeze: bool = True  # decoder self-attention and feed-forward, embeddings, LM head
    precision: str = "fp32"  # or "bf16"
    evaluate_every: int = 100  # steps; a checkpoint is written each time
    seed: int = 0
    device: str = "auto"  # a GPU where there is one; or "cpu"
    # decoding
    beams: int = 5
    dev_beams: int = 1  # while training
    max_new_tokens: int = 100
    length_penalty: float = 1.0
    no_repeat_ngram: int = 0
    decode_batch: int = 32

    def __post_init__(self):
        for field in fields(self):
            object.__setattr__(self, field.name, _as(field, getattr(self, field.name)))
        for name in ("steps", "batch", "accumulation", "evaluate_every", "beams", "max_new_tokens", "decode_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least 1.")
        if self.precision not in ("fp32", "bf16"):
            raise ValueError(f"precision is {self.precision!r}: choose fp32 or bf16.")

    @property
    def model_path(self) -> str:
        """Where from_pretrained finds the model."""
        ours = [home / self.model for home in (BASES_FOLDER, MADE_BASES_FOLDER) if (home / self.model).is_dir()]
        return str(ours[0]) if ours else self.model


def names() -> list[str]:
    return sorted(path.stem for path in PROFILES_FOLDER.glob("*.toml"))


def read(profile: str) -> dict[str, dict]:
    """The tables of a profile."""
    if profile not in names():
        raise ValueError(f"There is no profile {profile!r}: choose one of {', '.join(names())}.")
    return tomllib.loads((PROFILES_FOLDER / f"{profile}.toml").read_text(encoding="utf-8"))


def experiments_of(profile: str) -> list[Experiment]:
    """The experiments that the profile has a base model for."""
    return [one for one in EXPERIMENTS.values() if one.base in read(profile)["models"]]


def settings(profile: str, experiment: Experiment, **overrides) -> Settings:
    """The settings of an experiment under a profile; an override of None leaves the profile's value."""
    tables = read(profile)
    if experiment.base not in tables["models"]:
        raise ValueError(f"The profile {profile} has no {experiment.base}, so that {experiment.name} is not run.")
    chosen = {"model": tables["models"][experiment.base]} | tables["all"] | tables.get(experiment.task, {})
    chosen |= tables.get(experiment.rule, {})
    chosen |= {name: value for name, value in overrides.items() if value is not None}
    known = {field.name for field in fields(Settings)}
    if unknown := sorted(set(chosen) - known):
        raise ValueError(f"Unknown setting {', '.join(unknown)}: choose from {', '.join(sorted(known))}.")
    return Settings(**chosen)


def describe(chosen: Settings) -> dict:
    """For run files: what was set, with the base named rather than its place on this machine."""
    told = asdict(chosen)
    for name in ("model", "data"):
        if Path(told[name]).is_absolute():
            told[name] = Path(told[name]).name
    return told


def _as(field, value):
    """A value in the field's type: papermill and the command line may hand over text."""
    kind = {"int": int, "int | None": int, "float": float, "bool": bool, "str": str}[
        field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))]
    if value is None and field.default is None:
        return None
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    try:
        if kind is bool or (kind is int and float(value) != int(float(value))):
            raise ValueError
        return kind(float(value)) if kind is int else kind(value)
    except (TypeError, ValueError):
        need = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise ValueError(f"{field.name} is {value!r}: it must be {need}.") from None
