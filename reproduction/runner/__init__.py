"""What `./run_all.sh` runs. `steps` and `run` start on the standard library alone."""
