"""`python -m reproduction train | evaluate | pretrain | bench | run`: each has its own --help."""

import importlib
import sys

COMMANDS = {
    "train": ("reproduction.training", "train and evaluate one experiment"),
    "evaluate": ("reproduction.evaluation", "score anybody's outputs, one line per example"),
    "pretrain": ("reproduction.pretraining", "make a base model of the demo again, or one of real text"),
    "ship": ("reproduction.shipped", "put a trained model beside the bases, with its card"),
    "any": ("reproduction.any_evaluation", "evaluate a shipped model for any rule"),
    "playground": ("reproduction.playground.page", "write the playground's page"),
    "collie": ("reproduction.collie_run", "write for the instances of COLLIE"),
    "collie-figures": ("reproduction.collie_figures", "judge what was written for COLLIE"),
    "enforcement": ("reproduction.enforcement", "CSR, quality and time with and without a guarantee"),
    "bench": ("reproduction.bench", "measure the cost of the tracker or of the model"),
    "run": ("reproduction.runner.run", "everything: what ./run_all.sh runs"),
}


def main() -> int | None:
    if len(sys.argv) > 1 and sys.argv[1] in COMMANDS:
        module, _ = COMMANDS[sys.argv.pop(1)]
        return importlib.import_module(module).main()
    if wrong := [word for word in sys.argv[1:2] if word not in ("-h", "--help")]:
        print(f"There is no command {wrong[0]!r}.", file=sys.stderr)
    print("usage: python -m reproduction COMMAND [options]\n\ncommands (each has its own --help):")
    for name, (_, does) in COMMANDS.items():
        print(f"  {name:14} {does}")
    return 0 if sys.argv[1:] in ([], ["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
