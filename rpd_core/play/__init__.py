"""Playing episodes: the batched loop, who decides, keyed chance, recording."""
