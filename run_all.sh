#!/usr/bin/env bash
# Sets itself up (see setup_env.py) and reproduces the paper's tables and figures; --help says it all.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
if [[ " $* " =~ " "(-h|--help|--list|--dry-run)" " ]]; then  # answered without installing anything
    find_python
    # run_all.py needs the standard library only, but nretm/__init__.py more: an empty package stands in for it
    exec "$python" -c 'import sys, types
package = sys.modules["nretm"] = types.ModuleType("nretm")
package.__path__ = [sys.argv.pop(1)]
from nretm.run_all import main
sys.exit(main())' "$repository/nretm" "$@"
fi
set_up
exec "$python" -m nretm.run_all "$@"
