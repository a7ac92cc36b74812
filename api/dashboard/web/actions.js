// What a person does: asked once more where it matters, and told how it went.

import { h } from './dom.js';

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

/** Says what went wrong, in the words of the API. */
export function failed(problem) {
  const fields = (problem.errors ?? []).map((e) => `${e.field} ${e.message}`).join('; ');
  const parts = [problem.title ?? String(problem), fields || problem.detail].filter(Boolean);
  tell(parts.join('. ').replace('..', '.'), true);
}

/** Asks before something is done. Answers what was entered, null for no. */
export function ask({ title, text, action, danger, input, choices }) {
  return new Promise((resolve) => {
    const field = input && h('input', { id: 'answer', type: 'text', maxlength: '200', autocomplete: 'off' });
    const options = choices && h('select', { id: 'answer' }, choices.map(([value, name]) => h('option', { value }, name)));
    const dialog = h('dialog', { 'aria-labelledby': 'question' },
      h('form', { method: 'dialog' },
        h('h2', { id: 'question' }, title),
        h('p', null, text),
        (field || options) && h('label', { for: 'answer' }, input ?? 'Outcome', field ?? options),
        h('div', { class: 'buttons' },
          h('button', { value: 'no', type: 'submit', formnovalidate: true }, 'Not now'),
          h('button', { value: 'yes', type: 'submit', class: danger ? 'danger' : 'primary', id: 'confirm' }, action))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? (field ?? options)?.value ?? '' : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    (field ?? options ?? dialog.querySelector('#confirm')).focus();
  });
}

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
