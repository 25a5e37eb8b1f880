"""`torch._higher_order_ops.while_loop`."""

from ._control import while_loop as while_loop
from ._control import while_loop_stack_output as while_loop_stack_output
