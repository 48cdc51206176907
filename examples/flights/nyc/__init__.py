"""New York's flights of 2013 as streamlets."""
