"""Diverse beam search (Vijayakumar et al., 2018), which left transformers for a repository on the hub.

The beams form groups. In each step the groups choose their tokens one after another, and a token costs a group
`diversity_penalty` for every time that an earlier group has just chosen it.
"""

import torch
from transformers.generation.utils import GenerateBeamEncoderDecoderOutput

DEAD = -1.0e9  # score of a beam that holds no hypothesis yet


def diverse_beam_search(model, input_ids, logits_processor, stopping_criteria, generation_config, **model_kwargs):
    """The loop that generate hands its expanded inputs (B·beams rows), encoder outputs and cache to."""
    config, groups, prompt = generation_config, generation_config.num_beam_groups, input_ids.shape[1]
    if config.num_beams % groups or config.do_sample:
        raise ValueError(f"Diverse beam search takes num_beams as a multiple of num_beam_groups and no sampling, not "
                         f"{config.num_beams} beams in {groups} groups{' with sampling' * bool(config.do_sample)}.")
    size, batch = config.num_beams // groups, len(input_ids) // config.num_beams
    pools = [[_Pool(size, config) for _ in range(groups)] for _ in range(batch)]
    scores = torch.full((batch, groups, size), DEAD, device=input_ids.device)
    scores[..., 0] = 0.0
    first = torch.arange(len(input_ids), device=input_ids.device).view(batch, groups, size)[..., :1]  # (B, N, 1)
    outputs = model._prefill(input_ids, config, model_kwargs)
    while True:
        model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs, is_encoder_decoder=True)
        raw = torch.log_softmax(outputs.logits[:, -1].float(), dim=-1)
        logs = logits_processor(input_ids, raw).view(batch, groups, size, -1)
        chosen = torch.zeros(batch, logs.shape[-1], device=logs.device)  # how often earlier groups chose each token
        tokens, slots = [], []
        for group in range(groups):
            total = scores[:, group, :, None] + logs[:, group] - (config.diversity_penalty or 0.0) * chosen[:, None]
            best, token, slot, ends = _best(total, size, config._eos_token_tensor)
            for b, rank in ends[:, :size].nonzero().tolist():
                ids = input_ids[first[b, group, 0] + slot[b, rank]]
                pools[b][group].add(best[b, rank].item(), torch.cat([ids, token[b, rank, None]]), prompt)
            order = ends.long().argsort(dim=1, stable=True)[:, :size]  # those that go on, best first
            scores[:, group], token = best.gather(1, order), token.gather(1, order)
            chosen.scatter_add_(1, token, torch.ones_like(token, dtype=chosen.dtype))
            tokens.append(token)
            slots.append(slot.gather(1, order))
        parents = (torch.stack(slots, dim=1) + first).flatten()  # (B·beams,)
        input_ids = torch.cat([input_ids[parents], torch.stack(tokens, dim=1).view(-1, 1)], dim=1)
        length = input_ids.shape[1] - prompt
        if stopping_criteria(input_ids, None).all() or all(
                [pools[b][g].close(scores[b, g, 0].item(), length) for b in range(batch) for g in range(groups)]):
            break
        if model_kwargs.get("past_key_values") is not None:
            model_kwargs["past_key_values"].reorder_cache(parents)
        inputs = model.prepare_inputs_for_generation(
            input_ids, next_sequence_length=1 if model_kwargs["use_cache"] else None, **model_kwargs)
        outputs = model(**inputs, return_dict=True)
    return _output(pools, scores, input_ids, prompt, config)


class _Pool:
    """The finished hypotheses of one group, the best `size` of them."""

    def __init__(self, size: int, config):
        self.size, self.config, self.kept, self.closed = size, config, [], False

    def add(self, score: float, ids: torch.Tensor, prompt: int) -> None:
        if not self.closed:
            self.kept.append((score / (len(ids) - prompt) ** self.config.length_penalty, ids))
            self.kept = sorted(self.kept, key=lambda pair: -pair[0])[: self.size]

    def close(self, best_running: float, length: int) -> bool:
        """Take no more once it is full and, unless it stops early, nothing that still runs could do better."""
        if len(self.kept) == self.size:
            reachable = best_running / length**self.config.length_penalty
            self.closed = self.closed or self.config.early_stopping is True or self.kept[-1][0] >= reachable
        return self.closed


def _best(total: torch.Tensor, size: int, eos: torch.Tensor):
    """Enough of the best continuations, (B, M) each, that `size` of them do not end."""
    best, flat = total.flatten(1).topk(min((1 + len(eos)) * size, total[0].numel()), dim=1)
    token = flat % total.shape[-1]
    return best, token, flat // total.shape[-1], torch.isin(token, eos)


def _output(pools, scores, input_ids, prompt, config):
    """The best hypotheses of all groups; running ones count where the length ran out."""
    running = input_ids.view(*scores.shape, -1)
    sequences, values = [], []
    for b, row in enumerate(pools):
        for g, pool in enumerate(row):
            for slot, ids in enumerate(running[b, g]):
                pool.add(scores[b, g, slot].item(), ids, prompt)
        ranked = sorted((pair for pool in row for pair in pool.kept), key=lambda pair: -pair[0])
        values += [score for score, _ in ranked[: config.num_return_sequences]]
        sequences += [ids for _, ids in ranked[: config.num_return_sequences]]
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=int(config._pad_token_tensor))
    if config.return_dict_in_generate:
        return GenerateBeamEncoderDecoderOutput(sequences=padded, sequences_scores=torch.tensor(values))
    return padded
