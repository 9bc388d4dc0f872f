"""Two training steps under accelerate, in one process or in several; test_distributed.py starts it."""

import json
import sys

import tiny
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

import nretm

ROWS = [row | {"target": tiny.TARGETS[0]} for row in tiny.ROWS * 3][:8]  # of equal length: means over rows agree


def main(path: str) -> None:
    accelerator = Accelerator(cpu=True)
    model = tiny.equipped("T5").train()
    loader = DataLoader(ROWS, batch_size=4 // accelerator.num_processes, collate_fn=nretm.Collator(model))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses, gradients = [], []
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        losses.append(accelerator.gather(loss.detach()[None]).mean().item())
        gradients.append([p.grad.norm().item() for p in accelerator.unwrap_model(model).nretm.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    if accelerator.is_main_process:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"processes": accelerator.num_processes, "losses": losses, "gradients": gradients}, file)
    accelerator.end_training()


if __name__ == "__main__":
    main(sys.argv[1])
