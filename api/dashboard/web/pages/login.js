// Who are you? The key is sent once, and kept by nobody here.

import { logIn, session } from '../api.js';
import { h } from '../dom.js';

export const title = () => 'Log in';

export function open({ render }) {
  let problem = null;
  const submit = async (e) => {
    e.preventDefault();
    const field = e.target.elements.key;
    try {
      await logIn(field.value.trim());
    } catch (p) {
      problem = p;
      render();
      field.select();
      return;
    }
    field.value = '';
    dispatchEvent(new Event('loggedin'));
  };
  if (session.scope !== null) dispatchEvent(new Event('loggedin')); // no key is needed, or there is one
  return {
    render: () => h('section', { class: 'login card' },
      h('h1', null, 'Log in'),
      h('p', { class: 'muted' }, 'With one of the API keys of this service. What you may do follows from its scope.'),
      h('form', { onsubmit: submit },
        h('label', { for: 'key' }, 'API key'),
        h('input', { id: 'key', name: 'key', type: 'password', autocomplete: 'current-password', required: true, 'aria-describedby': 'wrong', 'aria-invalid': problem && 'true' }),
        h('p', { id: 'wrong', class: 'wrong', role: 'alert' }, problem && `${problem.title}. ${problem.detail}`),
        h('button', { type: 'submit', class: 'primary' }, 'Log in'))),
  };
}
