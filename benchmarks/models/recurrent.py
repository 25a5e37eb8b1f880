"""A language model on `nn.LSTM`."""

from __future__ import annotations

from typing import Any

from .task import Task

LSTM_VOCABULARY, LSTM_INPUT, LSTM_HIDDEN, LSTM_LAYERS = 256, 128, 256, 1


def lstm(torch: Any) -> Task:
    """A language model of bytes: an LSTM layer of 256 units, 64 bytes at a time."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(LSTM_VOCABULARY, LSTM_INPUT)
            self.lstm = nn.LSTM(LSTM_INPUT, LSTM_HIDDEN, LSTM_LAYERS, batch_first=True)
            self.head = nn.Linear(LSTM_HIDDEN, LSTM_VOCABULARY)

        def forward(self, indices):  # (B, T)
            x, _ = self.lstm(self.tokens(indices))  # (B, T, C)
            return self.head(x)  # (B, T, V)

    model = LanguageModel()

    def loss(logits, targets):
        return nn.functional.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))

    return Task(model, loss, torch.optim.Adam(model.parameters(), lr=1e-3))
