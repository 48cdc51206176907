"""What the page asks for, as data for JSON: a module for each subject. None of them knows HTTP."""
