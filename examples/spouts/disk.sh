#!/bin/sh
# Deliver the file systems of this machine as CSV, every few seconds.
set -e
while true; do
  {
    echo filesystem,size,used,mount
    df -kP | tail -n +2 | awk '{ printf "%s,%.0f,%.0f,%s\n", $1, $2 * 1024, $3 * 1024, $6 }'
  } | flow put out:df.csv
  sleep "$EVERY"
done
