"""The language server of blueprints: findings, completion, hover, definitions and renames in an editor."""
