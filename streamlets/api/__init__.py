"""What authors write streamlets with; `streamlets` exports its public names."""
