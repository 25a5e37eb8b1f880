"""peft: LoRA on a small GPT-2, trained, merged, saved and loaded."""

import tempfile

import torch
import transformers

transformers.logging.set_verbosity_error()
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(
    vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0
)
torch.manual_seed(0)
base = GPT2LMHeadModel(config)
state = {name: value.clone() for name, value in base.state_dict().items()}
model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.0))
print(model.get_nb_trainable_parameters())
ids = torch.randint(3, 60, (2, 12))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for _ in range(4):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
with torch.no_grad(), model.disable_adapter():
    print(model(input_ids=ids, labels=ids).loss.item())
folder = tempfile.mkdtemp()
model.save_pretrained(folder)
fresh = GPT2LMHeadModel(config)
fresh.load_state_dict(state)
again = PeftModel.from_pretrained(fresh, folder).eval()
merged = model.eval().merge_and_unload()
with torch.no_grad():
    print(torch.allclose(again(ids).logits, merged(ids).logits, atol=1e-5), merged(ids).logits.mean().item())
