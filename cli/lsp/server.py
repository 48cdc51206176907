"""The server: documents of an editor in, findings and answers out."""

from __future__ import annotations

import asyncio
import functools
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from blueprint.diagnostics import Diagnostic, Edit, Sources
from blueprint.diagnostics.fixing import MisfitError, apply
from blueprint.model.draft import Draft
from blueprint.verification.verify import Verification
from cli.application import SUFFIXES
from cli.lsp.answers import diagnostic_of, fits, item_of, line_of, overlap
from cli.lsp.completion import ProjectKnowledge, proposals
from cli.lsp.cursor import cursor_at, without_statement
from cli.lsp.definitions import definitions_at
from cli.lsp.hover import hover_at
from cli.lsp.open_application import OpenApplication, blueprint_of
from cli.lsp.positions import Place, column_of, is_file, range_of, uri_of
from cli.lsp.rename import Rename, RenameError, refusal, rename
from cli.lsp.targets import StreamletName, TopicName, target_at

_STATE = "state"
"""The annotation of the edits of a rename."""

_WATCHED = "**/*.{py,avsc,conf,yaml,yml,json}"
_PAUSE = 0.02
"""Seconds between a change and its verification: the completion that an editor asks for right after a keystroke is
computed first."""

_SWITCH = 0.001
"""Seconds after which a verification lets another thread compute, so that it does not delay answers."""

_MOST_PROPOSALS = 500
"""More are not sent; the editor asks again when more is typed."""


class BlueprintServer:
    """Answers an editor about the applications whose files are open in it.

    Findings are published by a single task per application: it verifies again as long as texts change. Verification
    runs in a thread, so that other requests are answered from the texts that were read last.
    """

    def __init__(self) -> None:
        """Create a server that is not connected."""
        self._server = LanguageServer("streamlets", version("streamlets"))
        self._applications: dict[Path, OpenApplication] = {}
        self._published: dict[Path, set[str]] = defaultdict(set)
        self._unverified: set[Path] = set()
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._thread = ThreadPoolExecutor(1, "verify")
        for feature, (handler, *options) in self._features().items():
            self._server.feature(feature, *options)(functools.partial(handler))  # pygls sets attributes of it

    def run(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Serve one editor until it disconnects.

        Arguments:
            requests: the stream from the editor.
            answers: the stream to the editor.
        """
        sys.setswitchinterval(_SWITCH)
        self._server.start_io(requests, answers)

    def _features(self) -> dict[str, tuple[Any, ...]]:
        return {
            types.INITIALIZED: (self._initialized,),
            types.TEXT_DOCUMENT_DID_OPEN: (self._changed,),
            types.TEXT_DOCUMENT_DID_CHANGE: (self._changed,),
            types.TEXT_DOCUMENT_DID_CLOSE: (self._changed,),
            types.TEXT_DOCUMENT_DID_SAVE: (self._saved,),
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (self._files_changed,),
            types.TEXT_DOCUMENT_COMPLETION: (
                self._complete,
                types.CompletionOptions(trigger_characters=[".", "=", "[", ","], resolve_provider=True),
            ),
            types.COMPLETION_ITEM_RESOLVE: (self._resolve,),
            types.TEXT_DOCUMENT_HOVER: (self._hover,),
            types.TEXT_DOCUMENT_DEFINITION: (self._definition,),
            types.TEXT_DOCUMENT_CODE_ACTION: (
                self._actions,
                types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
            ),
            types.TEXT_DOCUMENT_PREPARE_RENAME: (self._prepare_rename,),
            types.TEXT_DOCUMENT_RENAME: (self._rename, types.RenameOptions(prepare_provider=True)),
        }

    # Texts

    async def _initialized(self, _: types.InitializedParams) -> None:
        """Ask the editor to report files that change outside of it, if it can."""
        workspace = self._server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await self._server.client_register_capability_async(types.RegistrationParams([registration]))

    async def _changed(
        self,
        event: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams | types.DidCloseTextDocumentParams,
    ) -> None:
        application = self._application(event.text_document.uri)
        if application is not None:
            self._verify(application)

    async def _saved(self, event: types.DidSaveTextDocumentParams) -> None:
        self._read_again([event.text_document.uri])

    async def _files_changed(self, event: types.DidChangeWatchedFilesParams) -> None:
        self._read_again(change.uri for change in event.changes)

    def _read_again(self, uris: Iterable[str]) -> None:
        """Verify the applications of saved files, with their modules imported again if those are not settings."""
        for uri in uris:
            application = self._application(uri)
            if application is None or application.blueprint not in self._applications:
                continue
            if _path(uri).suffix not in SUFFIXES:
                application.stale = True
            self._verify(application)

    def _application(self, uri: str) -> OpenApplication | None:
        file = _path(uri)
        open_text = self._server.workspace.text_documents.get(uri)
        blueprint = blueprint_of(file, open_text.source if open_text is not None else "")
        if blueprint is None:
            return None
        return self._applications.setdefault(blueprint, OpenApplication(blueprint))

    def _texts(self) -> dict[Path, str]:
        documents = self._server.workspace.text_documents.values()
        return {path.resolve(): text.source for text in documents if (path := Path(text.path)).suffix in SUFFIXES}

    # Findings

    def _verify(self, application: OpenApplication) -> None:
        """Verify an application soon, unless that is planned already."""
        self._unverified.add(application.blueprint)
        task = self._tasks.get(application.blueprint)
        if task is None or task.done():
            self._tasks[application.blueprint] = asyncio.create_task(self._keep_verified(application))

    async def _keep_verified(self, application: OpenApplication) -> None:
        loop = asyncio.get_running_loop()
        while application.blueprint in self._unverified:
            await asyncio.sleep(_PAUSE)
            self._unverified.discard(application.blueprint)
            try:
                verification = await loop.run_in_executor(self._thread, application.verify, self._texts())
            except Exception:  # noqa: BLE001 - a bug; the next change tries again
                message = types.LogMessageParams(types.MessageType.Error, traceback.format_exc())
                self._server.window_log_message(message)
            else:
                self._publish(application, verification)

    def _publish(self, application: OpenApplication, verification: Verification) -> None:
        by_file: dict[str, list[types.Diagnostic]] = defaultdict(list)
        by_file[application.blueprint.as_uri()] = []
        for finding in verification.diagnostics:
            own = finding.primary is not None and is_file(finding.primary.span)
            uri = uri_of(finding.primary.span) if finding.primary and own else application.blueprint.as_uri()
            by_file[uri].append(diagnostic_of(finding, verification.sources))
        cleared = self._published[application.blueprint] - set(by_file)
        for uri, found in (*by_file.items(), *((uri, []) for uri in cleared)):
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))
        self._published[application.blueprint] = set(by_file)

    def _actions(self, request: types.CodeActionParams) -> list[types.CodeAction]:
        """Return the fixes of the findings in a range."""
        application = self._application(request.text_document.uri)
        if application is None or application.verification is None:
            return []
        sources = application.verification.sources
        return [
            action
            for finding in application.verification.diagnostics
            if finding.primary is not None
            and finding.fix is not None
            and is_file(finding.primary.span)
            and uri_of(finding.primary.span) == request.text_document.uri
            and overlap(range_of(finding.primary.span, line_of(sources, finding.primary.span)), request.range)
            and (action := self._action(finding, sources)) is not None
        ]

    def _action(self, finding: Diagnostic, sources: Sources) -> types.CodeAction | None:
        """Return a finding's fix; None if the texts have changed since, so that it no longer fits."""
        assert finding.fix is not None
        edits = self._edits(finding.fix.edits)
        if edits is None:
            return None
        safe = finding.fix.applicability.value == "safe"
        return types.CodeAction(
            finding.fix.title if safe else f"{finding.fix.title} (a guess)",
            types.CodeActionKind.QuickFix,
            [diagnostic_of(finding, sources)],
            is_preferred=safe,
            edit=types.WorkspaceEdit(changes=edits),
        )

    def _edits(self, edits: Iterable[Edit]) -> dict[str, list[types.TextEdit]] | None:
        """Return edits by file; None if one of them does not fit the current text."""
        by_file: dict[str, list[types.TextEdit]] = defaultdict(list)
        for edit in edits:
            if not is_file(edit.span):
                return None
            document = self._server.workspace.get_text_document(uri_of(edit.span))
            lines = document.source.split("\n")
            try:
                apply(document.source, [edit])
            except MisfitError:
                return None
            place = range_of(edit.span, dict(enumerate(lines, 1)).get)
            by_file[uri_of(edit.span)].append(types.TextEdit(place, edit.replacement))
        return by_file

    # Questions

    async def _complete(self, request: types.CompletionParams) -> types.CompletionList:
        application, file = self._application(request.text_document.uri), _path(request.text_document.uri)
        document = self._server.workspace.get_text_document(request.text_document.uri)
        text, offset = document.source, document.offset_at_position(request.position)
        cursor = cursor_at(text, offset) if file.suffix == ".conf" else None
        if application is None or cursor is None:
            return types.CompletionList(is_incomplete=False, items=[])
        if application.unreadable:  # otherwise the answer would wait for a verification that is running
            repaired = without_statement(text, offset)
            await asyncio.get_running_loop().run_in_executor(
                self._thread, application.read_repaired, self._texts(), file.resolve(), repaired
            )
        known = proposals(cursor, application.draft, ProjectKnowledge(application.classes, application.known_keys))
        fitting = [proposal for proposal in known if fits(proposal.text, cursor.typed)]
        begin = types.Position(request.position.line, max(request.position.character - len(cursor.typed), 0))
        place = types.Range(begin, request.position)
        data = str(application.blueprint)
        items = [item_of(proposal, place, data) for proposal in fitting[:_MOST_PROPOSALS]]
        return types.CompletionList(is_incomplete=len(fitting) > _MOST_PROPOSALS, items=items)

    def _resolve(self, item: types.CompletionItem) -> types.CompletionItem:
        """Add the description of a class, which is imported for it."""
        application = self._applications.get(Path(str(item.data)))
        if application is not None and item.kind == types.CompletionItemKind.Class:
            doc = application.class_doc(item.label)
            item.documentation = types.MarkupContent(types.MarkupKind.Markdown, doc)
        return item

    def _hover(self, request: types.HoverParams) -> types.Hover | None:
        application, draft, place, _ = self._place(request)
        if application is None or draft is None or application.verification is None:
            return None
        sources = application.verification.sources
        found = hover_at(draft, sources, place, application.known_keys)
        if found is None:
            return None
        text, span = found
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, range_of(span, line_of(sources, span)))

    def _definition(self, request: types.DefinitionParams) -> list[types.Location]:
        application, draft, place, line = self._place(request)
        if application is None or draft is None or application.verification is None:
            return []
        sources = application.verification.sources
        spans = definitions_at(draft, place, line)
        return [types.Location(uri_of(span), range_of(span, line_of(sources, span))) for span in spans]

    def _prepare_rename(self, request: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        application, draft, place, _ = self._place(request)
        target = target_at(draft, place) if draft is not None else None
        if application is None or application.verification is None or not isinstance(target, StreamletName | TopicName):
            return None
        name = target.ref if isinstance(target, StreamletName) else target.topic.id
        line = line_of(application.verification.sources, target.span)
        return types.PrepareRenamePlaceholder(range_of(target.span, line), name)

    def _rename(self, request: types.RenameParams) -> types.WorkspaceEdit | None:
        """Rename a streamlet or topic.

        Raises:
            JsonRpcInvalidParams: the place has no name that can be changed, or the new name causes an error.
        """
        application, _, place, _ = self._place(request)
        if application is None:
            return None
        texts = self._texts()
        before = application.trial(texts)  # the texts may have changed since they were verified
        target = target_at(before.draft, place) if before.draft is not None else None
        if before.draft is None or not isinstance(target, StreamletName | TopicName):
            raise JsonRpcInvalidParams("there is no streamlet or topic here")
        try:
            planned = rename(before.draft, target, request.new_name, before.sources.line)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        edited = dict(texts)
        for file, edits in _by_file(planned.edits).items():
            path = Path(file).absolute()
            text = edited[path] if path in edited else path.read_text(encoding="utf-8")
            edited[path] = apply(text, sorted(edits, key=lambda edit: edit.span)).text
        reason = refusal(before, application.trial(edited))
        if reason is not None:
            raise JsonRpcInvalidParams(reason)
        return self._workspace_edit(planned)

    def _workspace_edit(self, planned: Rename) -> types.WorkspaceEdit:
        """Return the edits; the user confirms the effect on the state, or sees it if the editor cannot ask."""
        changes = self._edits(planned.edits) or {}
        workspace = self._server.client_capabilities.workspace
        abilities = workspace.workspace_edit if workspace is not None else None
        if abilities is None or abilities.change_annotation_support is None:
            message = types.ShowMessageParams(types.MessageType.Warning, planned.effect)
            self._server.window_show_message(message)
            return types.WorkspaceEdit(changes=changes)
        documents = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(
                    uri, self._server.workspace.get_text_document(uri).version
                ),
                [types.AnnotatedTextEdit(_STATE, edit.range, edit.new_text) for edit in edits],
            )
            for uri, edits in changes.items()
        ]
        annotation = types.ChangeAnnotation("Rename", needs_confirmation=True, description=planned.effect)
        return types.WorkspaceEdit(document_changes=documents, change_annotations={_STATE: annotation})

    def _place(
        self, request: types.HoverParams | types.DefinitionParams | types.RenameParams | types.PrepareRenameParams
    ) -> tuple[OpenApplication | None, Draft | None, Place, str]:
        """Return the application, what was read of it last, the place of a request, and the text of its line."""
        document = self._server.workspace.get_text_document(request.text_document.uri)
        lines = document.source.split("\n")
        number = request.position.line
        line = lines[number].removesuffix("\r") if number < len(lines) else ""
        place = Place(_path(request.text_document.uri), number + 1, column_of(line, request.position.character))
        application = self._application(request.text_document.uri)
        return application, application.draft if application is not None else None, place, line


def _by_file(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    by_file: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_file[edit.span.file].append(edit)
    return by_file


def _path(uri: str) -> Path:
    from pygls.uris import to_fs_path

    return Path(to_fs_path(uri) or uri)
