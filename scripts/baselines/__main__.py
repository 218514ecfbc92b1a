"""`python3 -m baselines NAME`, in this folder's parent: how the program `baseline` starts one."""

from baselines.lab import main

main()
