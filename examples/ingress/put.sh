# Delivers each file that was not delivered yet, in a transaction whose marker is the name of the file.
last=$(flow put --print-marker | tr -d '"') || exit
for file in data/*.csv; do
  [ "$last" = null ] || expr "$file" '>' "$last" > /dev/null || continue
  flow put -f "$file" --marker "\"$file\"" || exit
done
