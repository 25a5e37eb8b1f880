"""`torch._higher_order_ops`: control flow as functions."""

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .map import map as map
from .out_dtype import out_dtype as out_dtype
from .scan import scan as scan
from .while_loop import while_loop as while_loop
from .while_loop import while_loop_stack_output as while_loop_stack_output
