#!/usr/bin/env bash
# Sets itself up (see setup_env.py) and reproduces the paper's tables and figures; --help says it all.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
if [[ " $* " =~ " "(-h|--help|--list|--dry-run)" " ]]; then  # answered without installing anything
    find_python
    PYTHONPATH="$repository" exec "$python" -m reproduction run "$@"
fi
set_up reproduction
exec "$python" -m reproduction run "$@"
