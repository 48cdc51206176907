"""The API with which authors write streamlets; `streamlets` exports its public names."""
