#!/usr/bin/env bash
# Sets itself up (see setup_env.py) and runs the linter and the tests, a process per core and
# file; arguments go to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./setup_env.sh
set_up reproduction test
"$python" -m ruff check .
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"  # threads of two processes on one core wait for each other
exec "$python" -m pytest -q -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder "$@"
