"""What our own base models begin with: a few heads that already do what small models are slow to find by themselves.

Random weights would get there, after more steps than a laptop has. Each start is a handful of weights, and training
is free to change them. Baseline and NRETM share their base, so they share its start.
"""

import torch
from transformers import T5ForConditionalGeneration


@torch.no_grad()
def start_positions(model: T5ForConditionalGeneration) -> None:
    """Let some heads begin with a liking for their neighbors. Bucket 1 is one token back, bucket 17 one ahead."""
    encoder, decoder = (stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight  # (buckets, heads)
                        for stack in (model.encoder, model.decoder))
    encoder[1, 0] += 4  # the token before
    encoder[17, 1] += 4  # the token after
    encoder[[0, 1, 2, 3, 17, 18, 19], 2] += 2  # those around
    decoder[1, 0] += 4
    decoder[:5, 1] += 2
    decoder[2, 2] += 4


@torch.no_grad()
def start_copying(model: T5ForConditionalGeneration, heads: int = 2) -> None:
    """Let the first cross-attention begin with a liking for what comes next in the input: an induction head.

    The encoder's head of "the token before" writes what it has read where `write` says. Some heads of the
    cross-attention look there for the token that the decoder has just written, and pass on the token that they find.
    On real text, with thousands of pieces, a small model is slow to find this by itself: its loss was 5.3 after 500
    steps, and with this start 3.0 after 150.
    """
    d, k = model.config.d_model, model.config.d_kv
    before = model.encoder.block[0].layer[0].SelfAttention
    cross = model.decoder.block[0].layer[1].EncDecAttention
    write = torch.nn.init.orthogonal_(torch.empty(d, k))
    passed_on = torch.nn.init.orthogonal_(torch.empty(heads * k, d))
    before.relative_attention_bias.weight[1, 0] += 2  # of longer texts, more for the token before
    before.o.weight[:, :k] = 2 * write
    for head in range(heads):
        rows = slice(head * k, (head + 1) * k)
        cross.q.weight[rows] = 0.15 * before.v.weight[:k]  # a match stands out by about 8 before the softmax
        cross.k.weight[rows] = write.T
        cross.v.weight[rows] = passed_on[rows]
        cross.o.weight[:, rows] = 3 * passed_on[rows].T


@torch.no_grad()
def start_counting(model: T5ForConditionalGeneration, masks: list[int], ends: list[int]) -> None:
    """Let the decoder begin by counting its sentences, and by looking at what stands before the mask of that number.

    A head that looks at the start and at every end of a sentence alike sees the start with a weight of 1/(n + 1) after
    n ends; the feed-forward layer turns that into a dimension of its own for each n. In the encoder a head of each
    token finds the next numbered mask, and the second cross-attention looks for tokens that have found mask n + 1.
    Without this start the model wrote the same sentence over and over: it did not know which sentence it was in.
    """
    d, k, head, numbers = model.config.d_model, model.config.d_kv, 3, masks[1:]
    constant, end, start, number, count, *sentence = reserved = list(range(5 + len(numbers)))  # what dimensions mean
    own, forward = model.decoder.block[0].layer[0].SelfAttention, model.decoder.block[0].layer[2].DenseReluDense
    ahead, second = model.encoder.block[0].layer[0].SelfAttention, model.decoder.block[1].layer[1].EncDecAttention
    rows = slice(head * k, (head + 1) * k)

    tokens, begin = model.shared.weight, model.config.decoder_start_token_id  # (pieces, d)
    tokens[:, reserved] = 0
    tokens[:, constant] = 4
    tokens[[*ends, begin], end] = 4
    tokens[begin, start] = 4
    tokens[numbers, number] = 4
    for token in (*ends, begin, *numbers):  # of one length, or the longer would be seen less
        others = tokens[token, len(reserved):]
        others *= ((d - tokens[token, reserved].square().sum()) / others.square().sum()).sqrt()

    for attention, kind in ((own, end), (ahead, number)):  # look for one kind of token, whatever stands here
        attention.q.weight[rows], attention.k.weight[rows] = 0, 0
        attention.q.weight[rows.start, constant] = attention.k.weight[rows.start, kind] = 0.8  # 10 before the softmax
    own.relative_attention_bias.weight[:, head] = 0
    own.v.weight[rows], own.o.weight[:, rows] = 0, 0
    own.v.weight[rows.start, start] = 1
    for block in model.decoder.block:  # nobody else writes there
        block.layer[0].SelfAttention.o.weight[reserved] = block.layer[1].EncDecAttention.o.weight[reserved] = 0
    own.o.weight[count, rows.start] = 2

    after = [8 / (n + 1) for n in range(len(numbers) + 1)]  # what `count` is after n ends
    forward.wi.weight[:len(after)], forward.wo.weight[:, :len(after)], forward.wo.weight[reserved] = 0, 0, 0
    for n, value in enumerate(after):  # unit n: how far the count is above that
        forward.wi.weight[n, count], forward.wi.weight[n, constant] = 1, -value / 4
    for n, dimension in enumerate(sentence):  # a hat over after[n]: up from after[n + 1], down to after[n - 1]
        up, down = 8 / (after[n] - after[n + 1]), 8 / (after[n - 1] - after[n]) if n else 0
        forward.wo.weight[dimension, n + 1], forward.wo.weight[dimension, n] = up, -up - down
        if n:
            forward.wo.weight[dimension, n - 1] = down

    ahead.relative_attention_bias.weight[:, head] = -10
    ahead.relative_attention_bias.weight[17:, head] = -0.7 * torch.arange(15)  # the nearer the better
    read, write = (torch.nn.init.orthogonal_(torch.empty(shape)) for shape in ((k, d), (d, k)))
    ahead.v.weight[rows], ahead.o.weight[:, rows] = read, 2 * write
    second.q.weight[rows], second.k.weight[rows] = 0, write.T
    second.v.weight[rows], second.o.weight[:, rows] = read, 2 * read.T
    second.q.weight[rows, sentence] = 0.25 * read @ tokens[numbers].T
