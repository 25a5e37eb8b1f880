"""torchmetrics: metrics over batches, as collections, and in the functional form."""

import torch
import torchmetrics
from torchmetrics import MetricCollection
from torchmetrics.functional import pairwise_cosine_similarity
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

torch.manual_seed(0)
metrics = MetricCollection(
    [
        torchmetrics.Accuracy(task="multiclass", num_classes=4),
        torchmetrics.F1Score(task="multiclass", num_classes=4, average="macro"),
        torchmetrics.Precision(task="multiclass", num_classes=4, average="weighted"),
        torchmetrics.AUROC(task="multiclass", num_classes=4),
        torchmetrics.ConfusionMatrix(task="multiclass", num_classes=4),
        torchmetrics.CohenKappa(task="multiclass", num_classes=4),
        torchmetrics.CalibrationError(task="multiclass", num_classes=4),
    ]
)
mean, squared = torchmetrics.MeanMetric(), torchmetrics.MeanSquaredError()
correlation, r2 = torchmetrics.PearsonCorrCoef(), torchmetrics.R2Score()
for _ in range(3):
    logits, target = torch.randn(32, 4), torch.randint(4, (32,))
    logits[torch.arange(32), target] += 1
    batch = metrics(logits.softmax(-1), target)
    print(batch["MulticlassAccuracy"].item())
    a = torch.randn(32)
    b = a + 0.3 * torch.randn(32)
    mean.update(a), squared.update(a, b), correlation.update(a, b), r2.update(a, b)
for name, value in metrics.compute().items():
    print(name, value.tolist())
print(mean.compute().item(), squared.compute().item(), correlation.compute().item(), r2.compute().item())
metrics.reset()
binary = torchmetrics.AveragePrecision(task="binary")
scores, labels = torch.rand(50), torch.randint(2, (50,))
print(binary(scores, labels).item(), torchmetrics.functional.auroc(scores, labels, task="binary").item())
first, second = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
print(peak_signal_noise_ratio(first, second, data_range=1.0).item())
print(structural_similarity_index_measure(first, second, data_range=1.0).item())
print(pairwise_cosine_similarity(torch.randn(3, 5), torch.randn(2, 5)).tolist())
tracker = torchmetrics.text.Perplexity()
print(tracker(torch.randn(2, 6, 10), torch.randint(10, (2, 6))).item())
print(torchmetrics.functional.kl_divergence(torch.rand(4, 3).softmax(-1), torch.rand(4, 3).softmax(-1)).item())
