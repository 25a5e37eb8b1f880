"""Sequence to sequence with GRUs and attention: reversing numbers, with teacher forcing and greedy decoding."""

import torch
from torch import nn, optim

torch.manual_seed(1)
VOCABULARY, WIDTH, LENGTH = 12, 24, 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.query, self.key, self.energy = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, memory, hidden, target=None):
        word, found = torch.zeros(memory.size(0), dtype=torch.long), []
        for i in range(LENGTH):
            scores = self.energy(torch.tanh(self.query(hidden).unsqueeze(1) + self.key(memory)))
            weights = torch.softmax(scores.squeeze(-1), dim=-1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            hidden = self.cell(torch.cat([self.embedding(word), context], -1), hidden)
            logits = self.out(hidden)
            found.append(logits)
            word = target[:, i] if target is not None else logits.topk(1)[1].squeeze(-1).detach()
        return torch.stack(found, 1)


encoder, decoder = Encoder(), Decoder()
criterion = nn.NLLLoss()
optimizers = [optim.Adam(m.parameters(), lr=1e-2) for m in (encoder, decoder)]
for _ in range(8):
    x = torch.randint(1, VOCABULARY, (16, LENGTH))
    y = x.flip(1)
    memory, hidden = encoder(x)
    logits = decoder(memory, hidden.squeeze(0), y)
    loss = criterion(torch.log_softmax(logits, -1).view(-1, VOCABULARY), y.reshape(-1))
    for o in optimizers:
        o.zero_grad()
    loss.backward()
    for o in optimizers:
        o.step()
    print(loss.item())
with torch.no_grad():
    memory, hidden = encoder(x[:2])
    print(decoder(memory, hidden.squeeze(0)).argmax(-1).tolist())
