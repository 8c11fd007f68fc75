"""Which queue for this link and this mix of traffic: `sojourn whatif`, and `ask` for notebooks.

`mix` reads what the traffic is, `scene` writes the experiment, `figures` takes a queue's figures from its runs,
`objective` says what is better and knows nothing of runs, `commands` sets the choice up, `words` prints.
"""

from .answer import Answer, ask
from .mix import Entry, parse

__all__ = ["Answer", "Entry", "ask", "parse"]
