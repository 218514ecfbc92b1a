"""`python3 -m peers NAME`, in this folder's parent: measures one peer."""

import sys

from peers.lab import main

sys.exit(main())
