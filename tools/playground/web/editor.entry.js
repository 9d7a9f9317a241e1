// The editor, as one file: CodeMirror with Python's colours, and marks at wrong lines.

import { indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

// Colours of the page, so that one theme is right by day and by night.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--split)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--start)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--cycle)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className), tags.className], color: "var(--message)", fontWeight: "600" },
  { tag: tags.meta, color: "var(--new)" },
]);

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--card)", color: "var(--ink)", fontSize: "14px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", borderRight: "1px solid var(--edge)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused": { outline: "2px solid var(--message)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--active)" },
  ".cm-selectionMatch": { backgroundColor: "var(--active)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--edge)" },
});

export function makeEditor(parent, { text, isDark, onRun, onChange }) {
  const run = { key: "Mod-Enter", run: () => (onRun(), true) };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([run])),
        basicSetup,
        keymap.of([indentWithTab]),
        indentUnit.of("    "),
        python(),
        syntaxHighlighting(colours),
        lintGutter(),
        theme,
        EditorView.darkTheme.of(isDark),
        EditorView.contentAttributes.of({ "aria-label": "The model, in Python", tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set(wanted) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: wanted } });
      view.scrollDOM.scrollTop = 0;
    },
    // Marks a line as wrong; null removes the mark.
    mark(number, message) {
      if (number === null) {
        view.dispatch(setDiagnostics(view.state, []));
        return;
      }
      const line = view.state.doc.line(Math.max(1, Math.min(number, view.state.doc.lines)));
      view.dispatch(setDiagnostics(view.state, [{ from: line.from, to: line.to, severity: "error", message }]));
      view.dispatch({ selection: { anchor: line.from }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
    },
    focus: () => view.focus(),
  };
}
