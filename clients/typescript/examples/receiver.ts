// Takes webhooks: checks each with the library of Standard Webhooks, and answers. WEBHOOK_SECRET
// is what `sequencer webhook add` has shown.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { WebhookEvent } from '../src/index.js';

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '');
const seen = new Set<string>(); // in earnest: where it outlives this process

const server = createServer((request, response) => {
  void take(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(400).end(),
  );
});

async function take(request: AsyncIterable<Uint8Array> & { headers: object }): Promise<number> {
  const body = (await buffer(request)).toString(); // as it came, not written anew
  const event = webhook.verify(body, request.headers as Record<string, string>) as WebhookEvent;
  if (!seen.has(event.id)) {
    seen.add(event.id); // it may come again, with the same id
    console.log(event.id, event.uid, event.from, event.to, event.transaction?.state ?? null);
  }
  return 204;
}

server.listen(Number(process.env.PORT ?? 9090), '127.0.0.1', () => console.log('listening'));
