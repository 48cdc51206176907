"""Manifests for Kubernetes, computed from the plan of an application, and the program of an executor's pod."""
