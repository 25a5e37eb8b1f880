"""`python -m torch.distributed.launch`: `torchrun` by its old name, which tells scripts their number by an option too."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.types.warn_once import warn
from .run import get_args_parser, run

__all__ = ["launch", "main"]


def main(args: Sequence[str] | None = None) -> None:
    """Start the processes; without `--use-env` each gets the option `--local-rank=N`."""
    warn(
        "The module torch.distributed.launch is deprecated\nand will be removed in future. Use torchrun.\nNote that --use-env is set "
        "by default in torchrun.\nIf your script expects `--local-rank` argument to be set, please\nchange it to read from "
        "`os.environ['LOCAL_RANK']` instead. See \nhttps://pytorch.org/docs/stable/distributed.html#launch-utility for \nfurther "
        "instructions\n",
        FutureWarning,
    )
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="no option --local-rank")
    run(parser.parse_args(args))


launch = run

if __name__ == "__main__":
    main()
