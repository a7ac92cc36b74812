// For an address that no page has.

import { limited } from '../api.js';
import { h } from '../dom.js';

export const title = () => 'No such page';

export function open() {
  const all = [['/', 'Overview'], ['/queues', 'Queues'], ['/transactions', 'Transactions'], ['/failed', 'Failed'], ['/senders', 'Senders'], ['/fees', 'Fees'], ['/webhooks', 'Webhooks']];
  const open = all.filter(([href]) => !limited() || ['/queues', '/transactions', '/failed'].includes(href));
  return {
    render: () => h('section', { class: 'card' },
      h('h1', null, 'There is no such page'),
      h('p', null, 'No page is at ', h('code', null, location.pathname), '. The pages are: ', open.map(([href, name], i) => [i > 0 && ', ', h('a', { href }, name)]), '; ',
        'a queue is at /queues/NAME, a transaction at /transactions/UID', !limited() && ', a sender at /senders/ADDRESS, an endpoint at /webhooks/ID', '.')),
  };
}
