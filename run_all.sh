#!/usr/bin/env bash
# Sets itself up (see setup_env.py) and reproduces the paper's tables and figures; --help says it all.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
if [[ ! -f "$repository/nretm/run_all.py" ]]; then
    echo "The notebooks and their runner (nretm/run_all.py) are not written yet: there is nothing to run; ./run_tests.sh works." >&2
    exit 1
fi
set_up
exec "$python" -m nretm.run_all "$@"
