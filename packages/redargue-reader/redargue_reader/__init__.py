"""The large reader of redargue: weights, a tokenizer and what was fitted to them; ``redargue`` finds and runs them."""
