"""skorch: a classifier and a regressor of scikit-learn's kind, in a grid search, pickled."""

import pickle

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler
from torch import nn


class Net(nn.Module):
    def __init__(self, units=8, out=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, units), nn.ReLU(), nn.Linear(units, out))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)).astype(np.float32)
y = (X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
net = NeuralNetClassifier(
    Net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, batch_size=20, iterator_train__shuffle=True, verbose=0,
    callbacks=[EpochScoring("accuracy", name="acc"), LRScheduler("StepLR", step_size=1), EarlyStopping()],
)  # fmt: skip
pipe = make_pipeline(StandardScaler(), net).fit(X, y)
print(net.history[:, "train_loss"], net.history[:, "valid_loss"], net.history[:, "acc"])
print(pipe.predict_proba(X)[:2].tolist())
again = pickle.loads(pickle.dumps(net))
print((again.predict(X) == net.predict(X)).all())
regressor = NeuralNetRegressor(
    Net, module__out=1, max_epochs=2, lr=0.05, verbose=0, train_split=None, optimizer=torch.optim.Adam
)
print(regressor.fit(X, X[:, :1]).history[:, "train_loss"])
search = GridSearchCV(
    NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, max_epochs=1, verbose=0), {"module__units": [4, 8]}, cv=2
)
search.fit(X, y)
print(sorted(search.best_params_))
