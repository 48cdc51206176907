"""What commands do with an application before it runs: verify, compare, fix, and print the findings."""
