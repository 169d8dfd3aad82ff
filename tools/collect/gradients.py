# SPDX-License-Identifier: Apache-2.0
"""The backward pass of a network on a GPU that need not be there.

PyTorch's own engine asks the GPU's driver, so the graph is walked here as the engine walks it: the latest node first, sums where paths
meet, in the type and shape that a node takes, and the hooks of tensors, parameters and modules. Who starts a backward pass inside of
another, as activation checkpointing does, gets this one too.
"""
import collections
import contextlib

from network_fault import Mistake
from replaced import replaced


class Gradients:
    """In place of PyTorch's engine while it is entered."""

    def __init__(self, torch):
        self._torch = torch
        self._of_results = collections.defaultdict(dict)  # hooks by node and result; the engine keeps them where Python cannot look
        self._before, self._after = collections.defaultdict(collections.OrderedDict), collections.defaultdict(collections.OrderedDict)
        self._as_given = set()  # nodes that want None, not zeros
        self._passes, self._pass, self._nodes = 0, -1, ()

    @contextlib.contextmanager
    def in_place(self):
        torch = self._torch
        function, tensor = torch.autograd.function, torch.Tensor
        on_tensor, as_is = tensor.register_hook, function.FunctionCtx.set_materialize_grads

        def register_hook(one, hook):
            handle = on_tensor(one, hook)
            if one.grad_fn is not None:
                self._of_results[one.grad_fn][one.output_nr] = one._backward_hooks
            return handle

        def set_materialize_grads(node, value):
            self._as_given.discard(node) if value else self._as_given.add(node)
            as_is(node, value)

        with contextlib.ExitStack() as stack:
            for owner, name, mine in ((tensor, "register_hook", register_hook),
                                      (function.BackwardCFunction, "register_hook", self._keeper(self._after)),
                                      (function.BackwardCFunction, "register_prehook", self._keeper(self._before)),
                                      (function.FunctionCtx, "set_materialize_grads", set_materialize_grads),
                                      (torch.autograd, "backward", self._backward), (torch.autograd, "grad", self._grad),
                                      (torch._C, "_current_graph_task_id", lambda: self._pass),
                                      (torch._C, "_will_engine_execute_node", lambda node: node in self._nodes)):
                stack.enter_context(replaced(owner, name, mine))
            yield self

    def _keeper(self, kept):
        def register(node, hook):
            handle = self._torch.utils.hooks.RemovableHandle(kept[node])
            kept[node][handle.id] = hook
            return handle
        return register

    def _backward(self, tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
        if create_graph or inputs is not None:
            raise Mistake("the network starts a backward pass with create_graph or inputs, which cannot be traced")
        tensors = (tensors,) if isinstance(tensors, self._torch.Tensor) else tuple(tensors)
        given = (grad_tensors,) if isinstance(grad_tensors, self._torch.Tensor) else tuple(grad_tensors or [None] * len(tensors))
        self.run(tensors, [self._torch.ones_like(one) if gradient is None else gradient for one, gradient in zip(tensors, given)])

    def _grad(self, *_, **__):
        raise Mistake("the network takes gradients itself (torch.autograd.grad), which cannot be traced")

    def run(self, outputs, gradients):
        before, self._passes = (self._pass, self._nodes), self._passes + 1
        self._pass = self._passes  # by its number a checkpoint knows that it has computed its block again already
        try:
            with self._torch.no_grad():
                self._walk(outputs, gradients)
        finally:
            self._pass, self._nodes = before

    def _walk(self, outputs, gradients):
        edges = [(one.grad_fn, one.output_nr) for one in outputs]
        for one, gradient in zip(outputs, gradients):
            if one.grad_fn is None:
                self._accumulate(one, gradient)
        waiting, ready, missing = {}, [], self._edges(edges)
        self._nodes = frozenset(missing)
        self._go_on(edges, gradients, waiting, missing, ready)
        while ready:
            ready.sort(key=lambda node: node._sequence_nr())
            node = ready.pop()
            self._go_on(node.next_functions, self._call(node, waiting.pop(node, {})), waiting, missing, ready)

    def _edges(self, roots):
        """How many edges lead to each node."""
        counts, left = {}, [roots]
        while left:
            for node, _ in left.pop():
                if node is None:
                    continue
                if node not in counts:
                    left.append(node.next_functions)
                counts[node] = counts.get(node, 0) + 1
        return counts

    def _call(self, node, gradients):
        if not gradients:
            return (None,) * len(node.next_functions)  # nothing came: nothing goes on
        if hasattr(node, "variable"):
            self._accumulate(node.variable, gradients[0])
            return ()
        for place, hooks in self._of_results.get(node, {}).items():
            if place in gradients:
                gradients[place] = self._hooked(hooks, gradients[place])
        metadata = getattr(node, "_input_metadata", ())
        given = tuple(gradients.get(index) for index in range(max(len(metadata), 1 + max(gradients))))
        if not callable(node) and node not in self._as_given:  # written in Python
            given = tuple(self._zeros(metadata[index]) if one is None and index < len(metadata) else one for index, one in enumerate(given))
        given = self._hooked(self._before.get(node), given)
        result = node(*given) if callable(node) else node.apply(*given)
        result = result if isinstance(result, tuple) else (result,)
        return self._hooked(self._after.get(node), result if callable(node) else self._of_tensors(node, result), given)

    def _of_tensors(self, node, results):
        """A function written in Python returns something for what is no tensor, too; the graph has no edges for that."""
        wanted = iter([one for one, needed in zip(results, node.needs_input_grad) if needed])
        return tuple(next(wanted, None) if following is not None else None for following, _ in node.next_functions)

    def _zeros(self, taken):
        return self._torch.zeros(tuple(taken.shape), dtype=taken.dtype, device=taken.device)

    def _hooked(self, hooks, value, *more):
        for hook in list((hooks or {}).values()):
            changed = hook(value, *more)
            value = value if changed is None else changed
        return value

    def _accumulate(self, variable, gradient):
        """A gradient becomes .grad as it is, if it lies as the parameter does."""
        gradient = self._hooked(variable._backward_hooks, gradient)
        if variable.grad is not None:
            variable.grad.add_(gradient)
        elif gradient.stride() == variable.stride():
            variable.grad = gradient.detach()
        else:
            variable.grad = self._torch.empty_like(variable).copy_(gradient)
        for hook in list((getattr(variable, "_post_accumulate_grad_hooks", None) or {}).values()):
            hook(variable)

    def _go_on(self, edges, results, waiting, missing, ready):
        for index, (following, place) in enumerate(edges):
            if following is None:
                continue
            gradient = results[index] if index < len(results) else None
            if gradient is not None:
                gathered = waiting.setdefault(following, {})
                gradient = self._as_taken(gradient, following, place)
                gathered[place] = self._sum(gathered[place], gradient) if place in gathered else gradient
            missing[following] -= 1
            if missing[following] == 0:
                ready.append(following)

    def _as_taken(self, gradient, node, place):
        taken = node.variable if hasattr(node, "variable") else node._input_metadata[place]
        if tuple(gradient.shape) != tuple(taken.shape):
            gradient = gradient.sum_to_size(tuple(taken.shape))
        return gradient if gradient.dtype == taken.dtype else gradient.to(taken.dtype)

    def _sum(self, first, second):
        # Into the first where nothing else lies in its memory twice.
        return first.add_(second) if 0 not in first.stride() else first + second
