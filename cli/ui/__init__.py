"""The page of applications in a browser: `flow ui`. Start reading at `app.py`."""
