"""The reproduction of the paper: data, training, evaluation, tables, report. In the checkout only, not in the wheel."""
