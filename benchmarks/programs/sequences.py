"""Text and series: recurrent networks, transformers, decoding."""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn


def gru_packed():
    """Bidirectional stacked GRU over packed sequences of other lengths in each batch, clipping."""
    random.seed(0)
    embed, gru, head = (
        nn.Embedding(500, 64, padding_idx=0),
        nn.GRU(64, 64, 2, batch_first=True, bidirectional=True, dropout=0.1),
        nn.Linear(128, 5),
    )
    model = nn.ModuleList([embed, gru, head])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step in range(50):
        lengths = sorted((random.randint(5, 30) for _ in range(16)), reverse=True)
        tokens = nn.utils.rnn.pad_sequence([torch.randint(1, 500, (n,)) for n in lengths], batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(embed(tokens), torch.tensor(lengths), batch_first=True)
        _, h = gru(packed)
        loss = F.cross_entropy(head(torch.cat([h[-2], h[-1]], 1)), torch.randint(0, 5, (16,)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


def lstm_stacked():
    """Two layers of LSTM forecasting a series, hidden state carried over and detached, batch 16, 40 steps."""
    lstm, head = nn.LSTM(8, 64, 2, batch_first=True), nn.Linear(64, 8)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], 1e-3)
    data, state = torch.randn(16, 1000, 8).cumsum(1) * 0.1, None
    for step in range(50):
        start = (step * 40) % 900
        x, y = data[:, start : start + 40], data[:, start + 1 : start + 41]
        out, state = lstm(x, state)
        state = tuple(s.detach() for s in state)
        loss = F.mse_loss(head(out), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def bilstm_tagger():
    """One sentence at a time of any length, bidirectional LSTM, SGD: batch of one."""
    random.seed(1)
    embed, lstm, head = nn.Embedding(200, 32), nn.LSTM(32, 32, bidirectional=True), nn.Linear(64, 9)
    optimizer = torch.optim.SGD([*embed.parameters(), *lstm.parameters(), *head.parameters()], 0.1)
    for step in range(120):
        n = random.randint(4, 25)
        sentence, tags = torch.randint(0, 200, (n,)), torch.randint(0, 9, (n,))
        optimizer.zero_grad()
        out, _ = lstm(embed(sentence).view(n, 1, -1))
        loss = F.nll_loss(F.log_softmax(head(out.view(n, -1)), 1), tags)
        loss.backward()
        optimizer.step()
        yield loss.item()


def seq2seq():
    """Translation: GRU encoder, attention, a Python decoding loop with teacher forcing, lengths that vary."""
    random.seed(2)
    embed, encoder, cell = nn.Embedding(100, 48), nn.GRU(48, 64, batch_first=True), nn.GRUCell(48 + 64, 64)
    score, out = nn.Linear(128, 1), nn.Linear(128, 100)
    model = nn.ModuleList([embed, encoder, cell, score, out])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step in range(40):
        source, target = (
            torch.randint(0, 100, (8, random.randint(5, 9))),
            torch.randint(0, 100, (8, random.randint(5, 9))),
        )
        keys, h = encoder(embed(source))
        h, token, loss = h[0], torch.zeros(8, dtype=torch.long), 0
        for t in range(target.shape[1]):
            weight = score(torch.cat([keys, h.unsqueeze(1).expand_as(keys)], 2)).softmax(1)
            context = (weight * keys).sum(1)
            h = cell(torch.cat([embed(token), context], 1), h)
            logits = out(torch.cat([h, context], 1))
            loss = loss + F.cross_entropy(logits, target[:, t])
            token = target[:, t] if random.random() < 0.5 else logits.argmax(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item() / target.shape[1]


def rnn_cells():
    """LSTMCell in a Python loop of 30 steps, batch 32 (the sine waves example)."""
    cell, head = nn.LSTMCell(1, 51), nn.Linear(51, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], 1e-2)
    data = torch.sin(torch.arange(31) / 3 + torch.rand(32, 1) * 6)
    for step in range(40):
        h, c = torch.zeros(32, 51), torch.zeros(32, 51)
        outputs = []
        for x in data[:, :-1].split(1, dim=1):
            h, c = cell(x, (h, c))
            outputs.append(head(h))
        loss = F.mse_loss(torch.cat(outputs, 1), data[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


class _Positions(nn.Module):
    def __init__(self, d, length=200):
        super().__init__()
        position, div = torch.arange(length).unsqueeze(1), torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        table = torch.zeros(length, d)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


def translation():
    """nn.Transformer with causal and padding masks, lengths that vary from batch to batch."""
    random.seed(3)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.positions = nn.Embedding(300, 64, padding_idx=0), _Positions(64)
            self.transformer = nn.Transformer(64, 4, 2, 2, 128, dropout=0.1, batch_first=True)
            self.out = nn.Linear(64, 300)

        def forward(self, source, target):
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
            pad = source == 0
            s, t = self.positions(self.embed(source) * 8), self.positions(self.embed(target) * 8)
            return self.out(
                self.transformer(
                    s, t, tgt_mask=mask, src_key_padding_mask=pad, tgt_is_causal=True, memory_key_padding_mask=pad
                )
            )

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98))
    for step in range(30):
        source, target = (
            torch.randint(1, 300, (8, random.randint(10, 16))),
            torch.randint(1, 300, (8, random.randint(10, 16))),
        )
        source[:4, -2:] = 0
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 300), target[:, 1:].reshape(-1), ignore_index=0, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def encoder_eval():
    """nn.TransformerEncoder in eval with padding masks, batches of other lengths."""
    random.seed(4)
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 3).eval()
    with torch.inference_mode():
        for step in range(60):
            n = random.randint(20, 40)
            x, mask = torch.randn(8, n, 128), torch.arange(n).expand(8, n) >= torch.randint(10, n, (8, 1))
            y = model(x, src_key_padding_mask=mask)
            yield y.mean().item() + y.std().item()


class _Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.ln1, self.ln2 = heads, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj, self.mlp = (
            nn.Linear(d, 3 * d),
            nn.Linear(d, d),
            nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)),
        )

    def forward(self, x, cache=None):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(d, 2))
        if cache is not None:
            if cache[0] is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class _GPT(nn.Module):
    def __init__(self, vocabulary=300, d=128, layers=3):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, d), nn.Embedding(256, d)
        self.blocks, self.ln, self.head = (
            nn.ModuleList(_Block(d, 4) for _ in range(layers)),
            nn.LayerNorm(d),
            nn.Linear(d, vocabulary),
        )

    def forward(self, tokens, caches=None, start=0):
        x = self.tokens(tokens) + self.places(torch.arange(start, start + tokens.size(1)))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.head(self.ln(x))


@torch.no_grad()
def generate_cached():
    """Generation with a cache of keys and values that grows by torch.cat, sampling from the 20 best; a yield a token."""
    model = _GPT().eval()
    caches = [[None, None] for _ in model.blocks]
    tokens = torch.randint(0, 300, (1, 8))
    logits, start = model(tokens, caches), 8
    for step in range(150):
        best, _ = torch.topk(logits[:, -1], 20)
        p = logits[:, -1].masked_fill(logits[:, -1] < best[:, [-1]], -float("inf")).softmax(-1)
        token = torch.multinomial(p, 1)
        tokens = torch.cat([tokens, token], 1)
        logits = model(token, caches, start)
        start += 1
        yield token.item() / 300


@torch.no_grad()
def generate_uncached():
    """Generation that runs the whole sequence for each token, greedily; a yield a token."""
    model = _GPT().eval()
    tokens = torch.randint(0, 300, (2, 4))
    for step in range(120):
        token = model(tokens[:, -128:])[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, token], 1)
        yield token[0].item() / 300


def char_rnn():
    """RNN language model; after every 10 steps, 40 letters are sampled one by one."""
    embed, rnn, head = nn.Embedding(60, 32), nn.LSTM(32, 96), nn.Linear(96, 60)
    optimizer = torch.optim.Adam([*embed.parameters(), *rnn.parameters(), *head.parameters()], 3e-3)
    text = torch.randint(0, 60, (3000,))
    for step in range(60):
        start = random.Random(step).randint(0, 2900)
        chunk = text[start : start + 51]
        out, _ = rnn(embed(chunk[:-1]).unsqueeze(1))
        loss = F.cross_entropy(head(out).view(-1, 60), chunk[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            with torch.no_grad():
                token, state = torch.tensor([0]), None
                for _ in range(40):
                    out, state = rnn(embed(token).unsqueeze(1), state)
                    token = torch.multinomial((head(out)[0, 0] / 0.8).softmax(0), 1)
                    token.item()
        yield loss.item()


def word2vec():
    """Skip-gram with negative samples, 20,000 words, dense gradients of the embeddings, Adam."""
    inner, outer = nn.Embedding(20000, 64), nn.Embedding(20000, 64)
    optimizer = torch.optim.Adam([*inner.parameters(), *outer.parameters()], 1e-3)
    for step in range(40):
        centre, context, negative = (
            torch.randint(0, 20000, (256,)),
            torch.randint(0, 20000, (256,)),
            torch.randint(0, 20000, (256, 5)),
        )
        v = inner(centre)
        positive = F.logsigmoid((v * outer(context)).sum(1))
        wrong = F.logsigmoid(-torch.bmm(outer(negative), v.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(positive + wrong).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def word2vec_sparse():
    """The same with sparse gradients and SparseAdam."""
    inner, outer = nn.Embedding(20000, 64, sparse=True), nn.Embedding(20000, 64, sparse=True)
    optimizer = torch.optim.SparseAdam([*inner.parameters(), *outer.parameters()], 1e-3)
    for step in range(40):
        centre, context = torch.randint(0, 20000, (256,)), torch.randint(0, 20000, (256,))
        loss = F.cross_entropy(inner(centre) @ outer(context).T, torch.arange(256))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def embedding_bag():
    """Text classification: EmbeddingBag over offsets, batches of other total lengths (the AG news tutorial)."""
    random.seed(5)
    bag, head = nn.EmbeddingBag(5000, 64), nn.Linear(64, 4)
    optimizer = torch.optim.SGD([*bag.parameters(), *head.parameters()], 5.0)
    for step in range(60):
        lengths = [random.randint(10, 60) for _ in range(32)]
        text, offsets = torch.randint(0, 5000, (sum(lengths),)), torch.tensor([0] + lengths[:-1]).cumsum(0)
        loss = F.cross_entropy(head(bag(text, offsets)), torch.randint(0, 4, (32,)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*bag.parameters(), *head.parameters()], 0.1)
        optimizer.step()
        yield loss.item()
