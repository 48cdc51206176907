# Delivers each day's sales in a transaction of its own, then exits. The marker is the number of days that are in the topic.
set -e
delivered=$(flow put out --print-marker)
[ "$delivered" = null ] && delivered=0
day=0
for file in data/sales/*.csv; do
  day=$((day + 1))
  [ "$day" -le "$delivered" ] || flow put "out:$file" -f "$file" --marker "$day"
done
