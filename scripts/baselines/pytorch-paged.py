"""PyTorch's attention of one new token, with and without pages: the whole of what `paged-cache`
measures the first half of.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from baselines.lab import CannotRun, Lab

# A layer of Llama 3 8B: four heads of queries share one of keys and values.
REQUESTS, TOKENS, HEADS, SHARED_HEADS, HEAD = 64, 4096, 32, 8, 128


def experiment(lab: Lab) -> None:
    """All cases, on a stream that is not the default one."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
        decode(lab)


class Paged:
    """A cache in pages that lie in a random order, and its table."""

    def __init__(self, page: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        self.page, self.count = page, REQUESTS * TOKENS // page
        order = torch.randperm(self.count, device="cuda")
        self.table = order.int().view(REQUESTS, TOKENS // page)
        self.keys, self.values = self._scatter(keys, order), self._scatter(values, order)

    def _scatter(self, cache: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        """The pages of all requests in one array for each head, page i at `order[i]`."""
        pages = cache.view(REQUESTS, SHARED_HEADS, -1, self.page, HEAD).transpose(0, 1)
        pages = pages.reshape(SHARED_HEADS, self.count, self.page, HEAD)
        scattered = torch.empty_like(pages)
        scattered[:, order] = pages
        return scattered.view(1, SHARED_HEADS, -1, HEAD)

    def mask(self) -> BlockMask:
        """The table in FlexAttention's words: which blocks a request's token sees, all of
        them whole, so that no score is hidden. PyTorch's own `PagedAttention` makes such a
        mask as well, with room for all blocks in each row.
        """
        none = torch.zeros((REQUESTS, 1, 1), dtype=torch.int32, device="cuda")
        blocks = none.new_zeros((REQUESTS, 1, 1, self.count))
        blocks[:, 0, 0, : TOKENS // self.page] = self.table
        return BlockMask.from_kv_blocks(
            none,
            torch.zeros_like(blocks),
            torch.full_like(none, TOKENS // self.page),
            blocks,
            BLOCK_SIZE=(128, self.page),
            seq_lengths=(1, self.count * self.page),
            compute_q_blocks=False,
        )

    def gather(self, scattered: torch.Tensor) -> torch.Tensor:
        """A contiguous copy of the cache."""
        pages = scattered.view(SHARED_HEADS, self.count, self.page, HEAD)
        pages = pages.index_select(1, self.table.view(-1))
        pages = pages.view(SHARED_HEADS, REQUESTS, TOKENS, HEAD)
        return pages.transpose(0, 1)


def decode(lab: Lab) -> None:
    """All ways to attend to the same cache."""
    torch.manual_seed(1)

    def random(heads: int, tokens: int) -> torch.Tensor:
        shape = (REQUESTS, heads, tokens, HEAD)
        return (2 * torch.rand(shape, device="cuda") - 1).bfloat16()

    query = random(HEADS, 1)
    keys, values = random(SHARED_HEADS, TOKENS), random(SHARED_HEADS, TOKENS)
    right = attention(query, keys, values)
    cache_bytes = 2 * keys.nbytes

    def flash(keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return scaled_dot_product_attention(query, keys, values, enable_gqa=True)

    def flex(
        keys: torch.Tensor, values: torch.Tensor, mask: BlockMask | None, by: int | None
    ) -> Callable[[], torch.Tensor]:
        options = {} if by is None else {"BLOCK_N": by}
        compiled = torch.compile(flex_attention, dynamic=False)
        return lambda: compiled(
            query,
            keys,
            values,
            block_mask=mask,
            enable_gqa=True,
            kernel_options=options,
        )

    def paged(page: int) -> Callable[[], torch.Tensor]:
        # At once it takes 64 tokens or so, as it likes, but no more than a page has.
        cache = Paged(page, keys, values)
        return flex(cache.keys, cache.values, cache.mask(), page if page < 64 else None)

    def gathered(page: int) -> Callable[[], torch.Tensor]:
        cache = Paged(page, keys, values)
        return lambda: flash(cache.gather(cache.keys), cache.gather(cache.values))

    ways: dict[str, Callable[[], Callable[[], torch.Tensor]]] = {
        "flash": lambda: lambda: flash(keys, values),
        "flex": lambda: flex(keys, values, None, None),
        "flex_pages_of_128": lambda: paged(128),
        "flex_by_16": lambda: flex(keys, values, None, 16),
        "flex_pages_of_16": lambda: paged(16),
        "gathered_pages_of_16": lambda: gathered(16),
    }

    stream = torch.cuda.current_stream().cuda_stream
    for way, make in ways.items():
        parameters = {"way": way, "tokens": TOKENS}
        if not lab.fits("decode", parameters, 5 * cache_bytes):
            continue
        with lab.attempt("decode", parameters):
            torch.compiler.reset()
            attend = make()
            attend()  # here it fails, if it does
            samples = lab.time_on_gpu(stream, lambda _: attend())
            off = (attend().float() - right).norm() / right.norm()
            lab.check(way, off.item() < 0.02)
            lab.record(
                "decode",
                parameters,
                samples,
                reads=cache_bytes,
                writes=query.nbytes,
                ceiling="device_memory",
                touched=cache_bytes,
                computes=4 * REQUESTS * HEADS * TOKENS * HEAD,
                checked=right.numel(),
            )


def attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The definition in FP32, a request at a time."""
    outputs = []
    for q, k, v in zip(query, keys.float(), values.float(), strict=True):
        q = q.float().view(SHARED_HEADS, -1, HEAD)
        scores = q @ k.transpose(1, 2) / HEAD**0.5
        outputs.append((scores.softmax(-1) @ v).view(HEADS, 1, HEAD))
    return torch.stack(outputs)
