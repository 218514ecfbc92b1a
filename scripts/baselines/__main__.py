"""`python3 -m baselines NAME`, in this folder's parent: measures one baseline."""

import sys

from baselines.lab import main

sys.exit(main())
