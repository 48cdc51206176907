"""The Dockerfile of the image that all pods have, and the files that it omits."""

from __future__ import annotations

from streamlets.kubernetes.containers import INIT, USER
from streamlets.kubernetes.deployment import APPLICATION, Deployment

_ENVIRONMENT = "/opt/streamlets"
"""The virtual environment in the image."""

WHEELS = "wheels"
"""The directory of wheels, next to the blueprint."""


def dockerfile(deployment: Deployment, directory: str) -> str:
    """Return the Dockerfile.

    Arguments:
        deployment: what is deployed.
        directory: where the Dockerfile is, as it is written in the command that builds the image.
    """
    base = deployment.settings.base_image
    init = ", ".join(f'"{word}"' for word in (*INIT, "python", "-m", "streamlets.kubernetes.entrypoint"))
    return f"""\
# In the directory of the blueprint:
#   pip wheel --wheel-dir {WHEELS} 'streamlets[metrics]' PACKAGES...
#   docker build --file {directory}/Dockerfile --tag {deployment.image} .

# flow.kubernetes.base-image
FROM {base} AS packages
COPY {WHEELS}/ /{WHEELS}/
RUN python -m venv {_ENVIRONMENT} \\
    && {_ENVIRONMENT}/bin/pip install --no-cache-dir --no-index --no-deps /{WHEELS}/*.whl

FROM {base} AS application
COPY . {APPLICATION}/
RUN rm -rf {APPLICATION}/{WHEELS}

FROM {base}
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends default-jre-headless tini \\
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid {USER} streamlets \\
    && useradd --uid {USER} --gid {USER} --no-create-home --home-dir /tmp streamlets
COPY --from=packages {_ENVIRONMENT} {_ENVIRONMENT}
ENV PATH={_ENVIRONMENT}/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The application is last: a change of it leaves the layers above as they are.
COPY --from=application {APPLICATION} {APPLICATION}
WORKDIR {APPLICATION}
USER {USER}:{USER}
ENTRYPOINT [{init}]
"""


def ignored_files(deployment: Deployment, directory: str) -> str:
    """Return the files next to the blueprint that are not copied into the image: state, outputs and secrets.

    Arguments:
        deployment: what is deployed.
        directory: where the manifests are, from the directory of the blueprint.
    """
    patterns = (
        ".flow", ".git", ".venv", "**/__pycache__", "**/*.pyc", "**/.env", "**/.env.*", "**/*.key", "**/*.pem",
        "**/*.p12", "**/*.jks", "**/.pypirc", "**/.netrc",
    )  # fmt: skip
    inside = [] if directory.startswith("..") or directory == "." else [directory]
    outputs = (str(path.relative_to(APPLICATION)) for path in deployment.outputs)
    return "".join(f"{pattern}\n" for pattern in (*patterns, *inside, *outputs))
