"""torch-geometric without its compiled extensions: message passing layers trained on a small graph, and batches of graphs."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv, global_add_pool, global_mean_pool
from torch_geometric.utils import degree, softmax, to_dense_adj, to_undirected

torch.manual_seed(0)
edges = to_undirected(torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]]))
x, y = torch.randn(5, 6), torch.tensor([0, 1, 0, 1, 1])
print(edges.tolist(), degree(edges[0]).tolist(), to_dense_adj(edges).sum().item())
layers = {
    "gcn": GCNConv(6, 8), "gat": GATConv(6, 4, heads=2), "sage": SAGEConv(6, 8), "transformer": TransformerConv(6, 8),
    "gin": GINConv(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))),
}  # fmt: skip
for name, layer in layers.items():
    head = torch.nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(head(layer(x, edges).relu()), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, loss.item())
graphs = [
    Data(x=torch.randn(n, 6), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n % 2])) for n in (2, 3, 4)
]
batch = Batch.from_data_list(graphs)
print(batch, global_add_pool(batch.x, batch.batch).sum(1).tolist())
for part in DataLoader(graphs, batch_size=2):
    print(part.num_graphs, global_mean_pool(layers["gcn"](part.x, part.edge_index), part.batch).sum().item())
print(softmax(torch.arange(4.0), torch.tensor([0, 0, 1, 1])).tolist())
