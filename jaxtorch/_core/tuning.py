"""The tuned constants of the engine and of its operations: what each number is, what it trades, and the benchmark that shows it.

This is the lowest file: it imports nothing. Others import the names that they use, so that a constant is looked up like any global of
theirs; a test that changes one changes it where it is used. To set one anew, run the benchmark that its group names with the old and
the new number in turns. A number that is not here is no matter of speed: it comes from PyTorch, from a format, or from mathematics.
What NumPy's rules take for each element, in nanoseconds, stands beside the rules (host/numpy_rules.py).
"""

from __future__ import annotations

# -- which programs stay on the host, and when XLA compiles them (host/tiering.py, run/runner.py); times are estimates
#    benchmarks/shapes.py, loops.py and programs.py

HOST_PROGRAM = 100e3  # ns of a program that is never compiled, as XLA's takes so long to start; of finding flags too
HOST_KERNEL = 60e6  # ns of NumPy, in all its runs, for one kernel by itself; then XLA compiles it, which takes as long,
HOST_KERNEL_EQUATION = 3e6  # and so many more for each of its equations
HOST_ELEMENTS = 1 << 22  # of one array: NumPy holds in memory what XLA would fuse away
HOST_COPY = 0.8  # ns to copy a number that does not lie beside the one before it
PROGRAM_WRITTEN_AFTER = 8  # runs of a program on the host; writing it as steps or text takes as long as some of them
KERNEL_WRITTEN_AFTER = 64  # runs of a kernel by itself, which are shorter
COMPILE_EQUATION = 5e6  # ns that XLA takes for an equation of a program that is compiled whole
QUICK_COMPILATION = 5  # times, XLA is faster with little effort (`tiering.QUICK_OPTIONS`)
COMPILE_AFTER = 1  # runs of a structure before it is compiled whole (JAXTORCH_COMPILE_AFTER)
FEW_PROGRAMS = 16  # that a process has seen while it still compiles whatever comes again,
COMPILED_AT_ONCE = 600  # and equations that it compiles in all, from then on, without having settled
SETTLED_RUNS = 16  # in a row without a new program, after which a process has settled
LONG_PROGRAM = 500  # equations of a program that is given time on NumPy: XLA takes seconds for them,
SMALL_EQUATION = 8e3  # and ns of each of them, up to which that pays
HUGE_PROGRAM = 4000  # equations of a program that is compiled with little effort first, even in a loop
LIKELY_RUNS = 8  # times as often as it ran, a program that comes again will yet run
LOOP_VARIANTS = 4  # programs of one line that may be one loop's: a last batch, a loss that is read now and then
FOLLOWERS = 6  # structures that are remembered as having run after another, where what follows depends on what was read
SHORT_CODE = 200  # items of code that are looked through for whether the host runs them in no time

# -- NumPy (host/numpy_*.py, host/blas.py)
#    benchmarks/loops.py and programs.py

NUMPY_CALL = 3000.0  # ns of Python and NumPy for an equation, whatever its size
RECURRENT_STEP = 30e3  # ns of Python for a step of a recurrent layer,
RECURRENT_GATE = 2.0  # for a number of its gates,
MULTIPLICATION = 0.05  # and for a multiplication in a product of matrices
SPREAD_BY_COPY = 4096  # elements that are copied sooner than NumPy makes a view of them
BLAS_ALONE = 1 << 13  # multiplications up to which OpenBLAS stays on one thread without being told
SUM_IN_SINGLE = 512  # numbers of a sum in single precision; longer ones go through double: exactness against time
SUM_IN_ORDER = 16  # numbers that are added one after the other, and twice as many where there are no more: the same

# -- programs as steps in C (host/small_code.py, host/small_memory.py)
#    benchmarks/overhead.py and loops.py

SMALL_STEP = 40.0  # ns of a step in C, whatever its size
SMALL_CALL = 4000.0  # ns of a step that calls NumPy
SMALL_PRODUCT = 1 << 13  # multiplications of a product that the steps make; a larger one is NumPy's
SMALL_SORT = 1 << 14  # elements that the steps sort; more are NumPy's
SMALL_SCRATCH = 1 << 22  # bytes of scratch memory that a program may hold,
SMALL_SCRATCH_IN_ALL = 1 << 28  # and all programs of a process

# -- programs as steps in C++ (host/native_code.py, native_chains.py), and a loader's samples (host/sample_memory.py)
#    benchmarks/dataloader.py and inference.py

NATIVE_STEP = 200.0  # ns of a step in C++, whatever its size: a program of fewer takes steps in C
CHAINED = 2048  # numbers of elementwise steps that go through the cache block by block
STEP_CONSTANT = 1 << 12  # elements of an array that is held with the steps
SAMPLE_ELEMENTS = 1 << 12  # of a sample that gets its place in a batch at once
SAMPLE_SHAPES = 4  # of samples that have memory for a whole batch

# -- sizes that C and C++ have too: they change together with native/small.inc, steps.inc and entry.inc

SMALL_ARRAYS = 1024  # inputs and results of a program as steps in C
SMALL_DIMENSIONS = 6  # of an operand of theirs
STEP_ARRAYS = 64  # inputs and results of a program as steps in C++
STEP_DIMENSIONS = 4  # of an operand of theirs
CHAIN_BLOCK = 1024  # numbers of a block of a chain
CHAIN_RESULTS = 16  # of a chain that have the place of a block

# -- recording and running (record/program.py and deferred_errors.py, run/)
#    benchmarks/overhead.py, recording.py and train_step.py

PROGRAM_LIMIT = 20_000  # items of code after which a program runs: memory against breaks in it (JAXTORCH_PROGRAM_LIMIT)
AHEAD_PATIENCE = 12  # what a structure may have wasted before it is not started ahead any more,
AHEAD_IN_VAIN = 4  # where a start in vain counts so much, as it may cost a whole run
UNREAD_RUNS = 64  # of which nobody has looked at the flags, before the oldest are looked at
NESTED_BACKWARDS = 40  # backward passes within each other that fill half of Python's stack
PACK_RESULTS = 4  # fewer stay arrays of their own: a pack costs two operations
PACK_ELEMENTS = 1 << 16  # of a pack: copying more costs as much as is won
COPIED_BY_XLA = 1 << 12  # bytes of a host array that XLA copies sooner than it is moved to the device
SPIN = 200e-6  # s for which a result is looked for before the thread sleeps: waking it takes 50 us

# -- errors that depend on values, looked at on the host (record/value_checks.py and known_values.py, tensor/indexing.py)
#    benchmarks/loops.py

ASIDE_ELEMENTS = 1 << 16  # of a value that is computed aside for that, and of indices that are looked at
ASIDE_NEAR = 48  # items back in a program's code its instruction may be: how far is searched
ASIDE_DEEP = 3  # instructions that may lead to it, one after the other
PYTHON_COMPARES = 48  # numbers that Python compares sooner than NumPy

# -- new sizes without a new trace (run/templates.py, compile/tracing.py), and tables of what has been met
#    benchmarks/shapes.py

TEMPLATE_AFTER = 4  # sets of sizes met before an operation is traced with symbols (JAXTORCH_TEMPLATES_AFTER)
TEMPLATE_TRIES = 3  # such traces until an operation is given up
TEMPLATES = 8  # of one family of calls: each is asked whether it holds
TEMPLATE_FAMILIES = 1024  # of calls that differ in sizes alone: memory
TEMPLATE_SEEN = 6  # sets of sizes that are kept to compare a template with
LOOP_EQUATIONS = 400  # equations of a kernel without loops that tells of loops written out
CACHED = 4096  # entries of a table of what has been met, before it is begun anew: memory against time

# -- XLA's programs on the CPU (compile/ and native/)
#    benchmarks/train_step.py, inference.py, lowering.py and lowering_operations.py

OLDER_EMITTERS = 2000  # equations that XLA's older emitters make; of more, the newer compile in half the time
REPEATED_KERNELS = 0.4  # share of equations in kernels met before, from which on the newer ones compile sooner
YNN_DIMENSIONS = 7  # from which on sums over a broadcast product end the process in XLA's library: a fault, not speed
SUMMED_BY_XLA = 64  # numbers of a sum over several dimensions that XLA may add in order: exactness against time
TABLE_WIDTH = 32  # of an embedding that is multiplied before it is read; below, wider rows cost more
MATVEC_ELEMENTS = 1 << 15  # of a matrix that is multiplied with a vector as a sum of rows
KERNEL_ELEMENTS = 1 << 14  # of an operation that goes to the kernels in C++; XLA fuses smaller ones
KERNEL_WEIGHT = 1 << 20  # elements of a product's right matrix up to which the kernels are faster with AVX2 alone
CONV_WORKSPACE = 80 << 20  # bytes that a way of convolving may take beyond its operands and its result
WINOGRAD_CHANNELS = 32  # fewer, in or out, and the transformations cost more than the products they save
WINOGRAD_TILES = 64  # fewer tiles of 2x2, and the kernel's transformation costs more
FOLDED_CHANNELS = 8  # in and at most twice as many out: columns join the channels, which are too few for a vector
CONV_PHASES = 64  # more, and compiling so many convolutions takes too long
CONV_TERMS = 128  # products in an element of the result: more, and writing each out takes long to compile
CONV_FEW = 4  # channels in times channels out, so few that a vector of channels is mostly empty
CONV_DOT_CHANNELS = 16  # fewer, and gathering patches costs more than XLA's way

# -- memory (compile/allocator.py, run/executable_limit.py, run/memory_gate.py)
#    benchmarks/memory.py and programs.py

HEAP_PAD = 64 << 20  # bytes that glibc asks the system for at once
HEAP_ARENAS = 2  # of glibc's: memory against threads that wait for each other
WORKER_MMAP = 32 << 20  # bytes of a block that a loader's worker gives back at once: glibc allows no larger threshold
WORKER_TRIM = 1 << 28  # bytes that a worker keeps free
RELEASE_AFTER = 0.1  # s of a compilation, after which the compiler's memory is given back,
RELEASE_BEFORE = 400  # and equations of a program before whose compilation what was freed is
EXECUTABLES_COUNTED = 500  # compilations between counts of the process's memory maps, each of which takes up to 30 ms
MAPS_SHARE = 0.75  # of the maps that Linux allows
GATED_PROGRAM = 128 << 20  # bytes of results in a program that waits for the one before it: memory against overlap
FREED_WITHIN = 0.01  # s that XLA's thread may take to free a program's memory once its results are there,
FREED_LOOK = 5e-5  # s between looks at it,
FREED_TRIES = 3  # and times that it may stay before it is taken for a result

# -- random numbers (random/)
#    benchmarks/programs.py and compile_time.py

DRAW_CHUNK = 1 << 16  # elements worked on at once, so that temporaries stay in cache; a multiple of 16
DRAW_ON_TWO_THREADS = 4 * DRAW_CHUNK  # normal numbers from which on a second thread helps
RANDPERM_LOOP = 600  # elements below which a plain loop is faster than vectors
REFILL_BLOCKS = 16  # of words that a refill grows to; the first after seeding is one
BULK_BLOCKS = 105  # of words made at once for large draws, so that temporaries stay in cache; a multiple of 16 words
SAMPLED_AT_ONCE = 2048  # uniform numbers that are drawn together for samples by rejection

# -- operations (_ops)
#    benchmarks/lowering_operations.py and train_step.py

POOL_UNROLLED = 64  # elements of a window along an axis that are written out; longer ones go through reduce_window
TOPK_ROW = 64  # elements of a row from which on it is better not sorted
COPIED_GRADIENT = 1 << 16  # elements of a gradient that is transposed, for which a copy pays
PRODUCT_IN_BATCHES = 1 << 15  # multiplications of one of many products for which the kernels in C++ pay
PRODUCT_ON_UNITS = 1 << 13  # elements of a result for which they pay on matrix units,
PRODUCT_IN_VECTORS = 1 << 12  # and without these
VECTOR_PRODUCT = 1 << 24  # with AVX-512: multiplications at most,
VECTOR_ROWS = 4  # rows at least,
VECTOR_WEIGHT = 1 << 17  # and elements of the weight at most, for the kernels to be faster than XLA
NORM_CHANNEL = 16  # numbers of a channel from which on vectors are full
GELU_KERNEL = 1 << 14  # elements for which a kernel of its own is faster than fusing with what stands around
TAPS_WRITTEN_OUT = 16  # elements to a sum, each looked up by itself where there is no kernel; more make long programs
EXTREME_BY_XLA = 2048  # elements of which XLA's own code finds the extreme
