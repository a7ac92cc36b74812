// What a person does: asked once more where it matters, and told how it went.

import { h, svg } from './dom.js';

let toasts = null;

/** Says something for a moment. */
export function tell(text, bad = false) {
  const toast = h('div', { class: bad ? 'toast bad' : 'toast' }, text,
    h('button', { type: 'button', class: 'quiet', 'aria-label': 'Dismiss', onclick: () => toast.remove() }, '×'));
  toasts.append(toast);
  while (toasts.children.length > 4) toasts.firstChild.remove();
  setTimeout(() => toast.remove(), bad ? 15_000 : 5000);
}

tell.into = (element) => { toasts = element; };

/** A button that takes a whole text along; what says of what kind it is. */
export function copy(text, what) {
  return h('button', { type: 'button', class: 'copy', title: 'Copy', 'aria-label': `Copy ${what}`, onclick: () => clip(text, what) },
    svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: 'M5.5 5.5h8v8h-8z' }), svg('path', { d: 'M10.5 3v-.5h-8v8H3' })));
}

async function clip(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // which a page that came over plain HTTP has not
    const field = h('textarea', { class: 'hidden', readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    if (!done) return tell(`This browser does not let a page copy. It is: ${text}`, true);
  }
  tell(`Copied: ${what}.`);
}

/** Says what went wrong, in the words of the API. */
export function failed(problem) {
  const fields = (problem.errors ?? []).map((e) => `${e.field} ${e.message}`).join('; ');
  const parts = [problem.title ?? String(problem), fields || problem.detail].filter(Boolean);
  tell([parts.join('. ').replace('..', '.'), problem.type && [' ', h('a', { href: problem.type }, 'What that means')]], true);
}

/** Opens a dialog with some content and two buttons, and answers whether the second was taken. */
function confirm({ title, text, action, danger, refuse = 'Not now' }, content, first) {
  return new Promise((resolve) => {
    const dialog = h('dialog', { 'aria-labelledby': 'question' },
      h('form', { method: 'dialog' },
        h('h2', { id: 'question' }, title),
        text && h('p', null, text),
        content,
        h('div', { class: 'buttons' },
          refuse && h('button', { value: 'no', type: 'submit', formnovalidate: true }, refuse),
          h('button', { value: 'yes', type: 'submit', class: danger ? 'danger' : 'primary', id: 'confirm' }, action))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
    (first ?? dialog.querySelector('#confirm')).focus();
  });
}

/** Asks before something is done. Answers what was entered, null for no. */
export async function ask({ input, choices, ...question }) {
  const field = input ? h('input', { id: 'answer', type: 'text', maxlength: '200', autocomplete: 'off' })
    : choices && h('select', { id: 'answer' }, choices.map(([value, name]) => h('option', { value }, name)));
  const yes = await confirm(question, field && h('label', { for: 'answer' }, input ?? 'Outcome', field), field);
  return yes ? field?.value ?? '' : null;
}

/**
 * Asks for several things at once: each is [name, label, value, required]. Answers them by name, without
 * the white space around them, null for no.
 */
export async function fill({ fields, ...question }) {
  const inputs = fields.map(([name, , value, required]) => h('input', { name, id: 'field-' + name, type: 'text', value: value ?? '', required, maxlength: '4000', autocomplete: 'off', spellcheck: 'false' }));
  const yes = await confirm(question, fields.map(([, label], i) => h('label', { for: inputs[i].id }, label, inputs[i])), inputs[0]);
  return yes ? Object.fromEntries(inputs.map((e) => [e.name, e.value.trim()])) : null;
}

/** Shows what is not shown again. */
export const reveal = (title, text, secret, what) => confirm({ title, text, action: 'I have it', refuse: '' }, h('p', { class: 'secret' }, h('code', null, secret), copy(secret, what)));

const busy = new Set();

/** Does something once, however often it is clicked, and says how it went. */
export async function act(name, what, done) {
  if (busy.has(name)) return;
  busy.add(name);
  try {
    const result = await what();
    tell(typeof done === 'function' ? done(result) : done);
  } catch (problem) {
    failed(problem);
  } finally {
    busy.delete(name);
  }
}
