"""What commands do with runs: send requests, follow their progress, and replace the process of one."""
