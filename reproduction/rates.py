"""AdamW where some weights learn at rates of their own."""

from collections.abc import Callable

import torch


def adamw(model: torch.nn.Module, rate: float, factor: Callable[[str], float], beta2: float,
          weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """AdamW of all weights that are trained; `factor` says by its name how many times as fast one learns."""
    groups: dict[float, list] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault(factor(name), []).append(parameter)
    return torch.optim.AdamW([{"params": parameters, "lr": rate * times} for times, parameters in groups.items()],
                             lr=rate, betas=(0.9, beta2), weight_decay=weight_decay)
