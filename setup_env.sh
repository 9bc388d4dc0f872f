# Sourced by run_tests.sh and run_all.sh; setup_env.py does the work.
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

# Sets `python` to an interpreter that is new enough, the active environment's first.
find_python() {
    for python in python python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            return
        fi
    done
    echo "NRETM needs Python 3.11 or newer, and none was found on the PATH (python, python3, python3.11 to 3.14); install one and run this again." >&2
    exit 1
}

# set_up extra...: sets `python` to an interpreter that has the pins of these extras of pyproject.toml and lets it
# import nretm from this checkout.
set_up() {
    find_python
    python="$("$python" "$repository/setup_env.py" "$@")" || exit
    export PYTHONPATH="$repository${PYTHONPATH:+:$PYTHONPATH}"
}
