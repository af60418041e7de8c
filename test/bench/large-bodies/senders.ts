/**
 * Clients that send large bodies one after the other, in a process of their own.
 *
 * Usage: senders.ts <port> <file of a body> <senders> <API key>...
 *
 * The keys are used in turn. Reports over its channel that all have started; to any message it replies with the count
 * of each status.
 */
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';

// They would be on another machine: their cost is not measured.
os.setPriority(os.constants.priority.PRIORITY_LOW);

const [port = '', file = '', senders = '', ...keys] = process.argv.slice(2);
const text = await readFile(file, 'utf8');
const statuses: Record<string, number> = {};

async function send(key: string): Promise<void> {
  const head = `POST /v1/tasks/estimate HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n`;
  const request = `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  for (;;) {
    const connection = new KeepAliveConnection(Number(port));
    try {
      for (;;) {
        const { status } = await connection.request(request);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    } catch {
      statuses['none'] = (statuses['none'] ?? 0) + 1;
    }
  }
}

for (let index = 0; index < Number(senders); index++) void send(keys[index % keys.length] ?? '');
process.send?.('begun');
process.once('message', () => process.send?.(statuses));
process.once('disconnect', () => process.exit(0));
