"""The single-layer model of a run: its tensors, their initial values, and what they compute on every query.

Parameters are a dict of float32 tensors; `stack` puts the members of a batch on a leading axis, and every function here
takes both (`..` below is that axis or nothing). With d the embedding dimension, m the width, k the hops of one pass:

    W_E [.., N, d], W_R [.., R, d]                   subject and relation embeddings
    W_in [.., d, m], b_in [.., m], W_out [.., m, d], b_out [.., d]         the ReLU MLP
    W_U [.., N, d], b_U [.., N]                      one read-out row and bias an answer; a tied read-out has no W_U, a
                                                     frozen one no b_U (its bias is zero)

*Uniform attention.* One hop: h = e_x + e_r, twice the mean over the prompt (as in T1). More hops in one pass: a mean
would forget the order of the relations, so each position has a hard positional head, h = e_x + Σ_i e_{r_i} W_O[i], with
W_O [.., k, d, d]. *Learned attention*: softmax heads W_Q, W_K, W_V [.., H, d, d], W_O [.., H, d, d] and positions W_pos
[.., k + 1, d], at inverse temperature 1; H = k + 1 (a head could serve each position), but H = 1 for one hop, where one
head can already weigh subject and relation. *Residual*: the last token's stream is added to h, and h to the MLP's
output. *Chain of thought* is the one-hop model: T3's two positional heads hand every step its current entity and its
next relation, so one step is a function of (entity, relation), and a chain of k hops is k steps of it.

Words are in lexicographic order and facts (x, w) in the order x·R^k + w throughout. h is affine in e_x and the word,
so that h W_in is computed once for each subject and once for each word, and only added for each fact.

*Initial values.* Embeddings and learned read-out rows are normal with variance 1/d, so that rows have norm about 1;
frozen read-out rows have norm exactly 1, lest some answers be favoured; W_in is normal with variance 2/d, W_out with
variance 1/m, biases are 0; W_O[i] is the identity plus normal noise of variance 1/d, so that the order of the relations
matters from the first step; attention matrices are normal with variance 1/d. A pilot (`empirical.models.training`)
found the scales to matter little: at rate 0.1, 11 of 12 runs near capacity memorised, and 12 of 12, some at half the
speed, with W_out at 3 times this scale; at rate 0.01 embeddings or read-out rows at 0.3 times it did no better.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from empirical.models.runs import RunConfig
from theory import FactSystem, InputError, all_words
from theory.definitions.families import draw_family

Parameters = dict[str, Tensor]

# Numbers of the widest value of a block of facts (hidden units or logits) that may stand in memory together.
CHUNK = {"cpu": 2**19, "cuda": 2**28}
HIDDEN = {"cpu": 2**24, "cuda": 2**28}


def hops_at_once(config: RunConfig) -> int:
    """The hops that one pass takes: all of them, or one when the model writes a chain of thought."""
    return 1 if config.chain else config.hops


def check_config(config: RunConfig) -> None:
    """InputError for a condition that has no model here: a chain is defined for positional heads and no residual."""
    if config.chain and (config.attention == "learned" or config.residual):
        raise InputError(
            "a chain of thought has T3's two positional heads and no residual stream; "
            "ask for uniform attention without residual"
        )


def shapes(config: RunConfig) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter of the run's model, in the order in which they are drawn."""
    check_config(config)
    n, d, m, k = config.entities, config.dimension, config.width, hops_at_once(config)
    result: dict[str, tuple[int, ...]] = {"W_E": (n, d), "W_R": (config.relations, d)}
    if config.attention == "learned":
        heads = 1 if k == 1 else k + 1
        result |= {"W_pos": (k + 1, d)} | {name: (heads, d, d) for name in ("W_Q", "W_K", "W_V", "W_O")}
    elif k > 1:
        result["W_O"] = (k, d, d)
    result |= {"W_in": (d, m), "b_in": (m,), "W_out": (m, d), "b_out": (d,)}
    if config.readout != "tied":
        result["W_U"] = (n, d)
    if config.readout != "frozen":
        result["b_U"] = (n,)
    return result


def trained(config: RunConfig) -> list[str]:
    """The names of the parameters that learn."""
    frozen = {"W_E"} if config.subjects == "frozen" else set()
    if config.readout == "frozen":
        frozen.add("W_U")
    return [name for name in shapes(config) if name not in frozen]


def initial(config: RunConfig) -> Parameters:
    """The initial parameters on the CPU: a function of the configuration alone (torch's generator at its seed)."""
    generator = torch.Generator().manual_seed(config.seed)
    deviation = {"W_in": math.sqrt(2 / config.dimension), "W_out": math.sqrt(1 / config.width)}
    parameters = {}
    for name, shape in shapes(config).items():
        if name.startswith("b_"):
            parameters[name] = torch.zeros(shape)
            continue
        parameters[name] = torch.randn(shape, generator=generator)
        parameters[name] *= deviation.get(name, math.sqrt(1 / config.dimension))
    if config.attention == "uniform" and "W_O" in parameters:
        parameters["W_O"] += torch.eye(config.dimension)
    if config.readout == "frozen":
        parameters["W_U"] /= parameters["W_U"].norm(dim=1, keepdim=True)
    return parameters


def stack(members: list[Parameters]) -> Parameters:
    """The members on a leading axis, each tensor padded with zeros to the largest.

    Zeros stay zeros: a hidden unit or coordinate without weights in and out gets no gradient, so padding is masked by
    being zero, and a member computes what it computes alone.
    """
    result = {}
    for name in members[0]:
        tensors = [member[name] for member in members]
        largest = [max(sizes) for sizes in zip(*(t.shape for t in tensors), strict=True)]
        result[name] = tensors[0].new_zeros(len(tensors), *largest)
        for place, tensor in enumerate(tensors):
            result[name][place][tuple(slice(size) for size in tensor.shape)] = tensor
    return result


def member(stacked: Parameters, place: int, own: dict[str, tuple[int, ...]]) -> Parameters:
    """A copy of one member of a stack, without its padding; `own` holds its shapes."""
    return {name: stacked[name][place][tuple(slice(size) for size in own[name])].clone() for name in stacked}


def outputs(parameters: Parameters, config: RunConfig, subjects: slice = slice(None)) -> Tensor:
    """What the model hands to its read-out for every word and the given subjects, shape [.., X·R^k, d]."""
    if config.attention == "learned":
        middle = _learned_attention(parameters, config, subjects).flatten(-3, -2)
        hidden = torch.relu(_affine(middle, parameters["W_in"], parameters["b_in"]))
    else:
        rows, words = parameters["W_E"][..., subjects, :], _words(parameters, config)
        by_word = _affine(words, parameters["W_in"], parameters["b_in"])
        before = (rows @ parameters["W_in"]).unsqueeze(-2) + by_word.unsqueeze(-3)
        hidden = torch.relu_(before.flatten(-3, -2))
        if config.residual:
            middle = (rows.unsqueeze(-2) + words.unsqueeze(-3)).flatten(-3, -2)
    output = _affine(hidden, parameters["W_out"], parameters["b_out"])
    return output + middle if config.residual else output


def readout(parameters: Parameters) -> tuple[Tensor, Tensor | None]:
    """The read-out rows [.., N, d] (the subject table when tied) and the bias [.., N], None where it is zero."""
    return parameters.get("W_U", parameters["W_E"]), parameters.get("b_U")


def _affine(values: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """values [.., rows, i] · weights [.., i, o] + bias [.., o]."""
    if values.ndim == 2:
        return torch.addmm(bias, values, weights)
    return torch.baddbmm(bias.unsqueeze(-2), values, weights)


def _words(parameters: Parameters, config: RunConfig) -> Tensor:
    """What each word adds to the subject under uniform attention (and the residual stream), shape [.., R^k, d]."""
    relations = parameters["W_R"]
    hops = hops_at_once(config)
    total = relations if hops == 1 else relations @ parameters["W_O"][..., 0, :, :]
    for hop in range(1, hops):
        last = relations @ parameters["W_O"][..., hop, :, :]
        total = (total.unsqueeze(-2) + last.unsqueeze(-3)).flatten(-3, -2)
    if config.residual:
        repeated = total.unflatten(-2, (-1, config.relations))
        total = (repeated + relations.unsqueeze(-3)).flatten(-3, -2)
    return total


def _learned_attention(parameters: Parameters, config: RunConfig, subjects: slice) -> Tensor:
    """Softmax attention from the last position, plus its stream if there is a residual; shape [.., X, R^k, d].

    Keys, values and scores are those of N subjects and R relations a position, and only gathered for each word.
    """
    hops, W_pos = config.hops, parameters["W_pos"]
    words = torch.as_tensor(all_words(config.relations, hops), device=W_pos.device)
    streams = [parameters["W_E"][..., subjects, :] + W_pos[..., :1, :]]
    streams += [parameters["W_R"] + W_pos[..., place : place + 1, :] for place in range(1, hops + 1)]
    heads = [stream.unsqueeze(-3) for stream in streams]
    query = (heads[-1] @ parameters["W_Q"]).transpose(-1, -2)
    scores, values = [], []
    for place, stream in enumerate(heads):
        score = stream @ parameters["W_K"] @ query
        value = stream @ parameters["W_V"] @ parameters["W_O"]
        if place == 0:
            scores.append(score[..., words[:, -1]])
        else:
            letters = words[:, place - 1]
            scores.append(score[..., letters, words[:, -1]].unsqueeze(-2).expand(scores[0].shape))
            value = value[..., letters, :]
        values.append(value)
    pattern = torch.softmax(torch.stack(scores, dim=-1), dim=-1)
    total = torch.einsum("...hxw,...hxd->...xwd", pattern[..., 0], values[0])
    for place in range(1, hops + 1):
        total = total + torch.einsum("...hxw,...hwd->...xwd", pattern[..., place], values[place])
    return total + streams[-1][..., words[:, -1], :].unsqueeze(-3) if config.residual else total


def subject_blocks(config: RunConfig, device: torch.device, members: int = 1, width: int | None = None) -> list[slice]:
    """Slices of the subjects, so that the hidden units of all words of a slice fit in HIDDEN numbers."""
    words = config.relations ** hops_at_once(config)
    per_subject = members * words * max(width or config.width, config.dimension)
    size = max(1, HIDDEN[device.type] // per_subject)
    return [slice(start, min(start + size, config.entities)) for start in range(0, config.entities, size)]


def system_of(config: RunConfig) -> FactSystem:
    """The run's system, drawn from its family by its seed; of scrambled words the R^k bijections, one a word."""
    words = config.relations**config.hops if config.scrambled else config.relations
    return draw_family(config.family, config.entities, words, config.seed)


def answers(system: FactSystem, config: RunConfig) -> Tensor:
    """The answer of every fact that one pass is asked, shape [N·R^k] in the order of the facts."""
    if config.scrambled:
        return torch.as_tensor(system.answers.T.reshape(-1).copy())
    words = all_words(config.relations, hops_at_once(config))
    return torch.as_tensor(system.follow_all(words).T.reshape(-1))


def readout_gradients(
    values: Tensor, rows: Tensor, bias: Tensor | None, targets: Tensor, precision: torch.dtype, learns: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The gradients of Σ cross-entropy of the facts by values [M, F, d], rows [M, N, d] and bias [M, N].

    targets [M, F]. The logits stand in memory CHUNK numbers at a time, and no loss is computed: with p the softmax, the
    gradient of the logits is p off the target and minus the sum of these on it, which loses no digits when p there is
    nearly 1. The bias is one more column of the rows, read by a constant 1, so that no pass over the logits is spent on
    it or on its gradient. `precision` is that of the products; sums over chunks are float32. Without `learns` the rows'
    and the bias' gradients are None.
    """
    (members, facts, dimension), answers = values.shape, rows.shape[1]
    table, read = rows.to(precision), values.to(precision)
    wide = table if bias is None else torch.cat([table, bias.to(precision).unsqueeze(-1)], dim=-1)
    read = read if bias is None else torch.nn.functional.pad(read, (0, 1), value=1.0)
    size = max(1, CHUNK[values.device.type] // (members * answers))
    by_values = torch.empty(values.shape, dtype=torch.float32, device=values.device)
    by_wide = torch.zeros(wide.shape, dtype=torch.float32, device=values.device)
    begins = torch.arange(members * min(size, facts), device=values.device).view(members, -1) * answers
    for start in range(0, facts, size):
        part, right = read[:, start : start + size], targets[:, start : start + size]
        if part.shape[1] < begins.shape[1]:
            begins = torch.arange(right.numel(), device=values.device).view(members, -1) * answers
        slope = torch.softmax(_multiply(part, wide.mT), dim=-1)
        flat, place = slope.view(-1), right + begins
        flat[place] = 0
        flat[place] = -slope.sum(dim=-1)
        by_values[:, start : start + size] = _multiply(slope, table)
        if learns:
            _add_product(by_wide, slope.mT, part)
    if not learns:
        return by_values, None, None
    return by_values, by_wide[..., :dimension], None if bias is None else by_wide[..., dimension]


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    """The products of the members; of one alone as a plain product, which CPUs do faster than a batched one."""
    return torch.mm(left[0], right[0]).unsqueeze(0) if len(left) == 1 else torch.bmm(left, right)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left · right, in float32."""
    if left.dtype != torch.float32:
        total += _multiply(left, right)
    elif len(left) == 1:
        total[0].addmm_(left[0], right[0])
    else:
        total.baddbmm_(left, right)


def gradients(
    parameters: Parameters, config: RunConfig, targets: Tensor, precision: torch.dtype = torch.float32
) -> Parameters:
    """The gradient of the mean cross-entropy over all facts by every parameter that learns; parameters [M, ..].

    targets [M, N·R^k]. `precision` bfloat16 runs the products under autocast.
    """
    learning = trained(config)
    leaves = {name: tensor.detach().requires_grad_(name in learning) for name, tensor in parameters.items()}
    rows, bias = readout(parameters)
    inputs = [name for name in learning if name not in ("W_U", "b_U")]
    words = config.relations ** hops_at_once(config)
    total: Parameters = {}
    for block in subject_blocks(config, rows.device, len(rows), parameters["W_in"].shape[-1]):
        with torch.autocast(rows.device.type, torch.bfloat16, enabled=precision == torch.bfloat16):
            values = outputs(leaves, config, block)
        asked = targets[:, block.start * words : block.stop * words]
        by_values, by_rows, by_bias = readout_gradients(
            values.detach(), rows, bias, asked, precision, config.readout != "frozen"
        )
        for part in (by_values, by_rows, by_bias):
            if part is not None:
                part /= targets.shape[1]
        parts = torch.autograd.grad(values, [leaves[name] for name in inputs], by_values.to(values.dtype))
        gradient = dict(zip(inputs, parts, strict=True))
        if by_rows is not None and config.readout == "tied":
            gradient["W_E"] = gradient["W_E"] + by_rows
        elif by_rows is not None:
            gradient["W_U"] = by_rows
        if by_bias is not None:
            gradient["b_U"] = by_bias
        total = {name: total[name] + part for name, part in gradient.items()} if total else gradient
    return total


@torch.no_grad()
def emitted(parameters: Parameters, config: RunConfig, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The answer to every fact, [M, N·R^k] with -1 for a tie (or NaN), and the mean cross-entropy [M]; in float32.

    Every logit of every fact is computed; parameters [M, ..], targets [M, N·R^k].
    """
    rows, bias = readout(parameters)
    words = config.relations ** hops_at_once(config)
    found, loss = torch.empty_like(targets), torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    size = max(1, CHUNK[rows.device.type] // (len(rows) * rows.shape[1]))
    for block in subject_blocks(config, rows.device, len(rows), parameters["W_in"].shape[-1]):
        values = outputs(parameters, config, block)
        for start in range(0, values.shape[1], size):
            first = block.start * words + start
            part = values[:, start : start + size]
            right = targets[:, first : first + part.shape[1], None]
            logits = part @ rows.mT if bias is None else torch.baddbmm(bias.unsqueeze(1), part, rows.mT)
            loss += (torch.logsumexp(logits, dim=-1) - logits.gather(-1, right)[..., 0]).sum(dim=1)
            best, place = logits.max(dim=-1, keepdim=True)
            others = logits.scatter_(-1, place, -math.inf).amax(dim=-1, keepdim=True)
            found[:, first : first + part.shape[1]] = torch.where(best > others, place, -1)[..., 0]
    return found, loss / targets.shape[1]
