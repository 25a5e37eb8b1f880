"""transformers: GPT-2, BERT, Llama, ViT, T5 and others from small configurations, trained, generating, and saved."""

import tempfile

import torch
import transformers

transformers.logging.set_verbosity_error()
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)


def train(name, model, inputs, steps=5):
    model.train()
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.p = 0.0
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        print(name, loss.item())


which = ("gpt2", "bert", "llama", "vit", "t5", "save")
torch.manual_seed(0)
ids = torch.randint(3, 60, (2, 12))
mask = torch.ones_like(ids)
mask[1, 8:] = 0
if "gpt2" in which:
    torch.manual_seed(0)
    m = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=64,
            n_positions=32,
            n_embd=32,
            n_layer=2,
            n_head=4,
            attn_pdrop=0,
            embd_pdrop=0,
            resid_pdrop=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    train("gpt2", m, dict(input_ids=ids, labels=ids))
    m.eval()
    print(m.generate(ids[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
    print(m.generate(ids[:, :4], max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=0).tolist())
    torch.manual_seed(3)
    print(
        m.generate(
            ids[:1, :4], max_new_tokens=8, do_sample=True, top_k=10, top_p=0.9, temperature=0.8, pad_token_id=0
        ).tolist()
    )
if "bert" in which:
    torch.manual_seed(0)
    m = BertForSequenceClassification(
        BertConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
            num_labels=3,
        )
    )
    train("bert", m, dict(input_ids=ids, attention_mask=mask, labels=torch.tensor([0, 2])))
    torch.manual_seed(0)
    m = BertForMaskedLM(m.config)
    train("bertmlm", m, dict(input_ids=ids, attention_mask=mask, labels=ids), 3)
if "llama" in which:
    torch.manual_seed(0)
    m = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
    )
    train("llama", m, dict(input_ids=ids, attention_mask=mask, labels=ids))
    m.eval()
    print(m.generate(ids[:, :5], max_new_tokens=8, do_sample=False).tolist())
if "vit" in which:
    torch.manual_seed(0)
    m = ViTForImageClassification(
        ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            image_size=32,
            patch_size=8,
            num_labels=3,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
        )
    )
    train("vit", m, dict(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([0, 2])))
if "t5" in which:
    torch.manual_seed(0)
    m = T5ForConditionalGeneration(
        T5Config(
            vocab_size=64,
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            decoder_start_token_id=0,
        )
    )
    train("t5", m, dict(input_ids=ids, labels=ids))
    m.eval()
    print(m.generate(ids, max_new_tokens=6, do_sample=False).tolist())
if "save" in which:
    d = tempfile.mkdtemp()
    torch.manual_seed(0)
    m = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4)).eval()
    m.save_pretrained(d)
    n = AutoModelForCausalLM.from_pretrained(d).eval()
    print(torch.equal(m(ids).logits, n(ids).logits))
