"""sentence-transformers: a small BERT from a configuration, with its tokenizer; pooling, encoding, losses, training, saving."""

import tempfile

import torch
from sentence_transformers import SentenceTransformer, losses, util
from sentence_transformers import models as parts
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

words = "a the cat dog sat ran on in mat park fast slow red blue house garden sun rain falls shines".split()
vocabulary = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
plain = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
plain.pre_tokenizer = pre_tokenizers.Whitespace()
plain.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=plain,
    pad_token="[PAD]",
    unk_token="[UNK]",
    cls_token="[CLS]",
    sep_token="[SEP]",
    mask_token="[MASK]",
)
torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    transformer = parts.Transformer(folder, max_seq_length=16)
    pooling = parts.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[transformer, pooling, parts.Normalize()], device="cpu")
sentences = ["the cat sat on the mat", "a dog ran in the park", "the red house", "rain falls on the garden"]
found = model.encode(sentences, convert_to_tensor=True)
print(found.shape, util.cos_sim(found, found)[0].tolist())
print(util.semantic_search(found[:1], found, top_k=2)[0])
pairs = [
    ("the cat sat", "a cat sat on the mat"),
    ("the dog ran", "a dog ran fast"),
    ("rain falls", "the rain falls in the garden"),
    ("sun shines", "the sun shines on the house"),
]
for kind in (losses.MultipleNegativesRankingLoss, losses.CosineSimilarityLoss):
    loss_of = kind(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    labels = torch.tensor([1.0, 0.8, 0.6, 0.2])
    for _ in range(5):
        features = [model.tokenize([p[k] for p in pairs]) for k in range(2)]
        loss = loss_of(features, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(kind.__name__, loss.item())
model.eval()
with tempfile.TemporaryDirectory() as folder:
    model.save(folder)
    again = SentenceTransformer(folder, device="cpu")
    print(
        (again.encode(sentences) - model.encode(sentences)).max().item() < 1e-6,
        model.similarity(model.encode(sentences), again.encode(sentences)).sum().item(),
    )
